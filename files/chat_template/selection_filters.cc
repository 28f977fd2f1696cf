// Filters that apply others to each item.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/chat_template/attribute_path.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/operators.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {

AttributePath AttributePath::Of(const std::string& text) {
  AttributePath made;
  for (std::string& part : std::vector<std::string>(absl::StrSplit(text, '.'))) {
    const bool digits = !part.empty() && part.size() < 10 &&
                        std::all_of(part.begin(), part.end(), absl::ascii_isdigit);
    if (digits) {
      made.parts.emplace_back(static_cast<int64_t>(std::stol(part)));
    } else {
      made.parts.emplace_back(std::move(part));
    }
  }
  return made;
}

absl::StatusOr<AttributePath> AttributePath::Of(const Bound& arguments, size_t i) {
  if (!arguments.has(i) || arguments[i].is_none()) return AttributePath();
  if (arguments[i].Integer().has_value()) {
    AttributePath made;
    made.parts.push_back(arguments[i]);
    return made;
  }
  ONWARD_ASSIGN_OR_RETURN(const std::string text, arguments.Text(i));
  return Of(text);
}

absl::StatusOr<Value> AttributePath::Get(Rendering& rendering, const Value& item) const {
  Value value = item;
  for (const Value& part : parts) {
    ONWARD_ASSIGN_OR_RETURN(value, Item(rendering, value, part));
    if (value.is_undefined() && otherwise.has_value()) value = *otherwise;
  }
  return value;
}

namespace {

using Made = absl::StatusOr<Value>;

// The name of a filter or test, which is argument `at`, and the arguments behind it.
absl::StatusOr<std::pair<std::string, Arguments>> Inner(const Arguments& all, size_t at) {
  const std::string* name = all.positional[at].text();
  if (name == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(
        "the name of a filter or test must be a text, not a ", all.positional[at].TypeName()));
  Arguments rest;
  rest.positional.assign(all.positional.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                         all.positional.end());
  rest.named = all.named;
  return std::pair(*name, std::move(rest));
}

Made MapAttribute(Rendering& rendering, const Values& items, const Arguments& all) {
  AttributePath path;
  for (const auto& [name, value] : all.named) {
    if (name == "default") {
      if (!value.is_none()) path.otherwise = value;
    } else if (name != "attribute") {
      return absl::InvalidArgumentError(
          absl::StrCat("'map' has no parameter '", files::PrintableUtf8(name), "'"));
    } else if (value.text() != nullptr) {
      path.parts = AttributePath::Of(*value.text()).parts;
    } else if (!value.is_none()) {
      path.parts = {value};
    }
  }
  Values made;
  for (const Value& item : items) {
    ONWARD_ASSIGN_OR_RETURN(Value value, path.Get(rendering, item));
    made.push_back(std::move(value));
  }
  return rendering.MakeIterator(std::move(made));
}

Made Map(Rendering& rendering, const Value& self, const Bound& arguments) {
  const Arguments& all = arguments.all();
  if (!self.IsTrue()) return rendering.MakeIterator({});
  const bool attribute = all.positional.empty() &&
                         std::any_of(all.named.begin(), all.named.end(),
                                     [](const auto& entry) { return entry.first == "attribute"; });
  if (!attribute && all.positional.empty())
    return absl::InvalidArgumentError("'map' needs a filter or an attribute");
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  if (attribute) return MapAttribute(rendering, items, all);
  ONWARD_ASSIGN_OR_RETURN(const auto inner, Inner(all, 0));
  Values made;
  for (const Value& item : items) {
    ONWARD_ASSIGN_OR_RETURN(Value value, CallFilter(rendering, inner.first, item, inner.second));
    made.push_back(std::move(value));
  }
  return rendering.MakeIterator(std::move(made));
}

template <bool by_attribute, bool wanted>
Made Select(Rendering& rendering, const Value& self, const Bound& arguments) {
  const Arguments& all = arguments.all();
  if (!self.IsTrue()) return rendering.MakeIterator({});
  constexpr size_t at = by_attribute ? 1 : 0;
  AttributePath path;
  if (by_attribute) {
    if (all.positional.empty())
      return absl::InvalidArgumentError("the name of an attribute is missing");
    const Value& name = all.positional[0];
    if (name.text() != nullptr) {
      path = AttributePath::Of(*name.text());
    } else if (!name.is_none()) {
      path.parts = {name};
    }
  }
  std::pair<std::string, Arguments> inner;
  if (all.positional.size() > at) {
    ONWARD_ASSIGN_OR_RETURN(inner, Inner(all, at));
  }
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  Values made;
  for (const Value& item : items) {
    ONWARD_ASSIGN_OR_RETURN(const Value value, path.Get(rendering, item));
    bool is = value.IsTrue();
    if (all.positional.size() > at) {
      ONWARD_ASSIGN_OR_RETURN(is, CallTest(rendering, inner.first, value, inner.second));
    }
    if (is == wanted) made.push_back(item);
  }
  return rendering.MakeIterator(std::move(made));
}

Made Attr(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string name, arguments.Text(0));
  if (self.AsShared<Dict>() != nullptr && FindBuiltin(DictMethods(), name) == nullptr)
    return Value::OfUndefined(
        absl::StrCat("a dict has no attribute '", files::PrintableUtf8(name), "'"));
  return Attribute(rendering, self, name);
}

constexpr Builtin kFilters[] = {
    {"attr", "name", Attr},
    {"map", "*", Map},
    {"select", "*", Select<false, true>},
    {"selectattr", "*", Select<true, true>},
    {"reject", "*", Select<false, false>},
    {"rejectattr", "*", Select<true, false>},
};

}  // namespace

Builtins SelectionFilters() { return kFilters; }

}  // namespace onward::chat_template
