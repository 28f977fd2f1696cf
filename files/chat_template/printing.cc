#include "files/chat_template/printing.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/python_text.h"
#include "files/tokenizer/characters.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

class Representation {
 public:
  explicit Representation(Rendering& rendering) : rendering_(rendering) {}

  absl::Status Add(const Value& value) {
    const Rendering::Level level(rendering_);
    ONWARD_RETURN_IF_ERROR(level.Check());
    ONWARD_RETURN_IF_ERROR(rendering_.Step());
    if (const std::string* text = value.text()) {
      ONWARD_RETURN_IF_ERROR(rendering_.ChargeCharacters(text->size()));
      absl::StrAppend(&made_, value.is_markup() ? "Markup(" : "", Quoted(*text),
                      value.is_markup() ? ")" : "");
    } else if (const Values* items = value.items()) {
      const bool tuple = value.AsShared<Tuple>() != nullptr;
      return AddItems(*items, tuple ? "(" : "[", tuple ? (items->size() == 1 ? ",)" : ")") : "]");
    } else if (const Dict* dict = value.AsShared<Dict>()) {
      return AddEntries(*dict);
    } else if (const View* view = value.As<View>()) {
      return AddView(*view);
    } else if (auto* const* space = value.As<Namespace*>()) {
      made_ += "<Namespace ";
      ONWARD_RETURN_IF_ERROR(AddEntries((*space)->attributes));
      made_ += ">";
    } else {
      return AddOther(value);
    }
    return absl::OkStatus();
  }

  std::string Take() { return std::move(made_); }

 private:
  absl::Status AddItems(const Values& items, const char* begin, const char* end) {
    made_ += begin;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) made_ += ", ";
      ONWARD_RETURN_IF_ERROR(Add(items[i]));
    }
    made_ += end;
    return absl::OkStatus();
  }

  absl::Status AddEntries(const Dict& dict) {
    made_ += "{";
    for (size_t i = 0; i < dict.entries().size(); ++i) {
      if (i > 0) made_ += ", ";
      ONWARD_RETURN_IF_ERROR(Add(dict.entries()[i].first));
      made_ += ": ";
      ONWARD_RETURN_IF_ERROR(Add(dict.entries()[i].second));
    }
    made_ += "}";
    return absl::OkStatus();
  }

  absl::Status AddView(const View& view) {
    using Kind = View::Kind;
    absl::StrAppend(&made_, "dict_",
                    view.kind == Kind::kKeys    ? "keys"
                    : view.kind == Kind::kItems ? "items"
                                                : "values");
    ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering_, Value(Value::Payload(view))));
    return AddItems(items, "([", "])");
  }

  absl::Status AddOther(const Value& value) {
    if (value.is_undefined()) {
      made_ += "Undefined";
    } else if (value.is_none()) {
      made_ += "None";
    } else if (const auto* flag = value.As<bool>()) {
      made_ += *flag ? "True" : "False";
    } else if (const auto* integer = value.As<int64_t>()) {
      absl::StrAppend(&made_, *integer);
    } else if (const auto* number = value.As<double>()) {
      made_ += FloatText(*number);
    } else if (const Range* range = value.As<Range>()) {
      absl::StrAppend(&made_, "range(", range->start, ", ", range->stop);
      absl::StrAppend(&made_, range->step == 1 ? "" : absl::StrCat(", ", range->step), ")");
    } else if (const auto* loop = value.As<std::shared_ptr<LoopState>>()) {
      absl::StrAppend(&made_, "<LoopContext ", (*loop)->index + 1, "/", (*loop)->items.size(), ">");
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("a ", value.TypeName(), " has no text: is a call or '| list' missing?"));
    }
    return absl::OkStatus();
  }

  Rendering& rendering_;
  std::string made_;
};

class Json {
 public:
  Json(Rendering& rendering, const JsonStyle& style) : rendering_(rendering), style_(style) {}

  absl::Status Add(const Value& value) {
    const Rendering::Level level(rendering_);
    ONWARD_RETURN_IF_ERROR(level.Check());
    ONWARD_RETURN_IF_ERROR(rendering_.Step());
    if (const std::string* text = value.text()) {
      return AddText(*text);
    } else if (value.is_none()) {
      made_ += "null";
    } else if (const auto* flag = value.As<bool>()) {
      made_ += *flag ? "true" : "false";
    } else if (const auto* integer = value.As<int64_t>()) {
      absl::StrAppend(&made_, *integer);
    } else if (const auto* number = value.As<double>()) {
      AddNumber(*number);
    } else if (const Values* items = value.items()) {
      return AddItems(*items);
    } else if (const Dict* dict = value.AsShared<Dict>()) {
      return AddEntries(*dict);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("a value of type ", value.TypeName(), " cannot be written as JSON"));
    }
    return absl::OkStatus();
  }

  std::string Take() { return std::move(made_); }

 private:
  void AddNumber(double number) {
    if (std::isnan(number)) {
      made_ += "NaN";
    } else if (std::isinf(number)) {
      made_ += number < 0 ? "-Infinity" : "Infinity";
    } else {
      made_ += FloatText(number);
    }
  }

  absl::Status AddText(std::string_view text) {
    ONWARD_RETURN_IF_ERROR(rendering_.ChargeCharacters(text.size()));
    made_ += '"';
    while (!text.empty()) {
      const std::string_view before = text;
      const uint32_t c = tokenizer::TakeCharacter(text);
      static constexpr std::string_view kPlain = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
      const size_t at = c < 0x80 ? kPlain.find(static_cast<char>(c)) : kPlain.npos;
      if (at != kPlain.npos) {
        made_ += '\\';
        made_ += kLetters[at];
      } else if (c >= 0x10000 && style_.ensure_ascii) {
        absl::StrAppendFormat(&made_, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                              0xdc00 + ((c - 0x10000) & 0x3ff));
      } else if (c < 0x20 || (c >= 0x7f && style_.ensure_ascii && c != 0x7f)) {
        absl::StrAppendFormat(&made_, "\\u%04x", c);
      } else {
        made_.append(before.substr(0, before.size() - text.size()));
      }
    }
    made_ += '"';
    return absl::OkStatus();
  }

  absl::Status NewLine() {
    if (!style_.indent.has_value()) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(rendering_.Charge(style_.indent->size() * static_cast<size_t>(depth_)));
    made_ += '\n';
    for (int i = 0; i < depth_; ++i) made_ += *style_.indent;
    return absl::OkStatus();
  }

  absl::Status AddItems(const Values& items) {
    if (items.empty()) {
      made_ += "[]";
      return absl::OkStatus();
    }
    made_ += '[';
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) made_ += style_.between_items;
      ONWARD_RETURN_IF_ERROR(NewLine());
      ONWARD_RETURN_IF_ERROR(Add(items[i]));
    }
    --depth_;
    ONWARD_RETURN_IF_ERROR(NewLine());
    made_ += ']';
    return absl::OkStatus();
  }

  absl::Status AddKey(const Value& key) {
    if (key.text() != nullptr || key.items() != nullptr) return Add(key);
    made_ += '"';
    ONWARD_RETURN_IF_ERROR(Add(key));
    made_ += '"';
    return absl::OkStatus();
  }

  absl::Status AddEntries(const Dict& dict) {
    if (dict.entries().empty()) {
      made_ += "{}";
      return absl::OkStatus();
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      absl::Status failed;
      std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
        const absl::StatusOr<bool> less = IsLess(rendering_, a->first, b->first);
        if (!less.ok()) failed = less.status();
        return less.value_or(false);
      });
      ONWARD_RETURN_IF_ERROR(failed);
    }
    made_ += '{';
    ++depth_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) made_ += style_.between_items;
      ONWARD_RETURN_IF_ERROR(NewLine());
      if (entries[i]->first.items() != nullptr)
        return absl::InvalidArgumentError("a tuple is a key, which JSON does not have");
      ONWARD_RETURN_IF_ERROR(AddKey(entries[i]->first));
      made_ += style_.behind_keys;
      ONWARD_RETURN_IF_ERROR(Add(entries[i]->second));
    }
    --depth_;
    ONWARD_RETURN_IF_ERROR(NewLine());
    made_ += '}';
    return absl::OkStatus();
  }

  Rendering& rendering_;
  const JsonStyle& style_;
  std::string made_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<std::string> ToRepr(Rendering& rendering, const Value& value) {
  Representation representation(rendering);
  ONWARD_RETURN_IF_ERROR(representation.Add(value));
  return representation.Take();
}

absl::StatusOr<std::string> ToText(Rendering& rendering, const Value& value) {
  if (value.is_undefined()) return std::string();
  if (const std::string* text = value.text()) {
    ONWARD_RETURN_IF_ERROR(rendering.Charge(text->size()));
    return *text;
  }
  return ToRepr(rendering, value);
}

absl::StatusOr<std::string> ToJson(Rendering& rendering, const Value& value,
                                   const JsonStyle& style) {
  Json json(rendering, style);
  ONWARD_RETURN_IF_ERROR(json.Add(value));
  return json.Take();
}

}  // namespace onward::chat_template
