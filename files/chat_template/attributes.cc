#include <algorithm>

#include "absl/strings/str_cat.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/chat_template/python_text.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

Value Missing(const Value& value, const std::string& name) {
  return Value::OfUndefined(
      absl::StrCat("a ", value.TypeName(), " has no '", files::PrintableUtf8(name), "'"));
}

// Names that Python's types have beside our methods: they must not pass for missing ones.
bool IsForeign(const Value& value, const std::string& name) {
  static constexpr const char* kText[] = {"casefold",  "encode",      "expandtabs", "format_map",
                                          "isalnum",   "isascii",     "isdecimal",  "isidentifier",
                                          "isnumeric", "isprintable", "maketrans",  "translate"};
  static constexpr const char* kNumber[] = {
      "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
      "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
      "numerator",        "real",      "to_bytes"};
  static constexpr const char* kDict[] = {"fromkeys"};
  const auto in = [&](const auto& names) {
    return std::any_of(std::begin(names), std::end(names),
                       [&](const char* other) { return name == other; });
  };
  if (value.text() != nullptr) return in(kText);
  if (value.Number().has_value()) return in(kNumber);
  return value.AsShared<Dict>() != nullptr && in(kDict);
}

// Methods that would change a value: templates may not.
bool IsChange(const Value& value, const std::string& name) {
  static constexpr const char* kList[] = {"append", "clear",  "extend",  "insert",
                                          "pop",    "remove", "reverse", "sort"};
  static constexpr const char* kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto in = [&](const auto& names) {
    return std::any_of(std::begin(names), std::end(names),
                       [&](const char* other) { return name == other; });
  };
  if (value.AsShared<List>() != nullptr) return in(kList);
  return value.AsShared<Dict>() != nullptr && in(kDict);
}

Builtins MethodsOf(const Value& value) {
  if (value.text() != nullptr) return TextMethods();
  if (value.AsShared<Dict>() != nullptr) return DictMethods();
  if (value.items() != nullptr) return ListMethods();
  if (value.As<std::shared_ptr<LoopState>>() != nullptr) return LoopMethods();
  return {};
}

std::optional<Value> LoopAttribute(const LoopState& loop, std::string_view name) {
  const auto index = static_cast<int64_t>(loop.index),
             size = static_cast<int64_t>(loop.items.size());
  if (name == "index") return Value(index + 1);
  if (name == "index0") return Value(index);
  if (name == "revindex") return Value(size - index);
  if (name == "revindex0") return Value(size - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == size);
  if (name == "length") return Value(size);
  if (name == "depth") return Value(int64_t{1});
  if (name == "depth0") return Value(int64_t{0});
  if (name == "previtem")
    return index > 0 ? loop.items[loop.index - 1] : Value::OfUndefined("there is no previous item");
  if (name == "nextitem")
    return index + 1 < size ? loop.items[loop.index + 1]
                            : Value::OfUndefined("there is no next item");
  return std::nullopt;
}

// Returns the result of getattr(); nullopt: nothing.
absl::StatusOr<std::optional<Value>> Member(Rendering& rendering, const Value& value,
                                            const std::string& name) {
  if (value.is_undefined()) return UndefinedError(value);
  if (name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__")
    return absl::InvalidArgumentError(
        absl::StrCat("the attribute '", files::PrintableUtf8(name), "' is not supported"));
  if (auto* const* space = value.As<Namespace*>()) {
    const Value* found = (*space)->attributes.Find(name);
    return found == nullptr ? std::optional<Value>() : *found;
  }
  if (const auto* loop = value.As<std::shared_ptr<LoopState>>())
    if (std::optional<Value> found = LoopAttribute(**loop, name)) return found;
  if (const Range* range = value.As<Range>()) {
    if (name == "start") return std::optional<Value>(range->start);
    if (name == "stop") return std::optional<Value>(range->stop);
    if (name == "step") return std::optional<Value>(range->step);
  }
  if (const Builtin* method = FindBuiltin(MethodsOf(value), name)) {
    if (value.is_markup())
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' of escaped text is not supported"));
    const auto call = [method, value, &rendering](const Arguments& arguments) {
      return CallBuiltin(rendering, *method, value, arguments);
    };
    return std::optional<Value>(
        Value::Payload(std::make_shared<const Callable>(Callable{method->name, call})));
  }
  if (IsChange(value, name))
    return std::optional<Value>(Value::OfUndefined(absl::StrCat(
        "'", name, "' would change a ", value.TypeName(), ", which a chat template may not")));
  if (IsForeign(value, name))
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' of a ", value.TypeName(), " is not supported"));
  return std::optional<Value>();
}

absl::StatusOr<std::optional<Value>> ElementOf(Rendering& rendering, const Value& value,
                                               const Value& key) {
  if (const Dict* dict = value.AsShared<Dict>()) {
    const absl::StatusOr<const Value*> found = dict->Find(key);
    // Jinja takes a key that cannot be one for a missing one.
    if (!found.ok() || *found == nullptr) return std::optional<Value>();
    return std::optional<Value>(**found);
  }
  const auto index = key.Integer();
  if (!index.has_value()) return std::optional<Value>();
  if (const std::string* text = value.text()) {
    ONWARD_RETURN_IF_ERROR(rendering.ChargeCharacters(text->size()));
    const std::vector<size_t> starts = CharacterStarts(*text);
    const auto size = static_cast<int64_t>(starts.size()) - 1;
    const int64_t at = *index < 0 ? *index + size : *index;
    if (at < 0 || at >= size) return std::optional<Value>();
    const auto i = static_cast<size_t>(at);
    return std::optional<Value>(
        Value(text->substr(starts[i], starts[i + 1] - starts[i]), value.is_markup()));
  }
  const Range* range = value.As<Range>();
  const Values* items = value.items();
  if (range == nullptr && items == nullptr) return std::optional<Value>();
  const int64_t size = *LengthOf(value);
  const int64_t at = *index < 0 ? *index + size : *index;
  if (at < 0 || at >= size) return std::optional<Value>();
  if (range != nullptr) return std::optional<Value>(range->start + at * range->step);
  return std::optional<Value>((*items)[static_cast<size_t>(at)]);
}

}  // namespace

absl::StatusOr<Value> Attribute(Rendering& rendering, const Value& value, const std::string& name) {
  ONWARD_ASSIGN_OR_RETURN(std::optional<Value> found, Member(rendering, value, name));
  if (found.has_value()) return *std::move(found);
  ONWARD_ASSIGN_OR_RETURN(found, ElementOf(rendering, value, Value(name)));
  return found.has_value() ? *std::move(found) : Missing(value, name);
}

absl::StatusOr<Value> Item(Rendering& rendering, const Value& value, const Value& key) {
  if (value.is_undefined()) return UndefinedError(value);
  ONWARD_ASSIGN_OR_RETURN(std::optional<Value> found, ElementOf(rendering, value, key));
  if (found.has_value()) return *std::move(found);
  if (const std::string* name = key.text()) {
    ONWARD_ASSIGN_OR_RETURN(found, Member(rendering, value, *name));
    return found.has_value() ? *std::move(found) : Missing(value, *name);
  }
  ONWARD_ASSIGN_OR_RETURN(const std::string name, ToText(rendering, key));
  return Missing(value, name);
}

namespace {

// A bound of a slice within a sequence; none is `otherwise`.
absl::StatusOr<int64_t> BoundOf(const Value& value, int64_t size, int64_t otherwise, int64_t least,
                                int64_t most) {
  if (value.is_none()) return otherwise;
  const auto given = value.Integer();
  if (!given.has_value())
    return absl::InvalidArgumentError(
        absl::StrCat("a slice needs integers, not a ", value.TypeName()));
  const int64_t at = *given < 0 ? *given + size : *given;
  return std::clamp(at, least, most);
}

}  // namespace

absl::StatusOr<Value> Slice(Rendering& rendering, const Value& value, const Value& start,
                            const Value& stop, const Value& step) {
  if (value.is_undefined()) return UndefinedError(value);
  const std::string* text = value.text();
  const Values* items = value.items();
  if (text == nullptr && items == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("a slice of a ", value.TypeName(), " is not possible"));
  ONWARD_RETURN_IF_ERROR(rendering.ChargeCharacters(text == nullptr ? 0 : text->size()));
  const std::vector<size_t> starts =
      text == nullptr ? std::vector<size_t>() : CharacterStarts(*text);
  const auto size = static_cast<int64_t>(text == nullptr ? items->size() : starts.size() - 1);
  constexpr int64_t kFar = int64_t{1} << 40;
  ONWARD_ASSIGN_OR_RETURN(const int64_t by, BoundOf(step, 0, 1, -kFar, kFar));
  if (by == 0) return absl::InvalidArgumentError("the step of a slice is zero");
  const int64_t least = by > 0 ? 0 : -1, most = by > 0 ? size : size - 1;
  ONWARD_ASSIGN_OR_RETURN(const int64_t from,
                          BoundOf(start, size, by > 0 ? 0 : size - 1, least, most));
  ONWARD_ASSIGN_OR_RETURN(const int64_t to, BoundOf(stop, size, by > 0 ? size : -1, least, most));
  std::string made;
  Values some;
  for (int64_t i = from; by > 0 ? i < to : i > to; i += by) {
    const auto at = static_cast<size_t>(i);
    if (text != nullptr) {
      made.append(*text, starts[at], starts[at + 1] - starts[at]);
    } else {
      some.push_back((*items)[at]);
    }
  }
  if (text != nullptr) return rendering.MakeText(std::move(made), value.is_markup());
  return value.AsShared<List>() != nullptr ? rendering.MakeList(std::move(some))
                                           : rendering.MakeTuple(std::move(some));
}

}  // namespace onward::chat_template
