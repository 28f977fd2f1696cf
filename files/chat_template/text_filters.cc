#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/chat_template/python_text.h"
#include "files/chat_template/text_operations.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Made = absl::StatusOr<Value>;

template <std::string (*change)(std::string_view)>
Made Change(Rendering& rendering, const Value& self, const Bound&) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  return rendering.MakeText(change(text), self.is_markup());
}

Made Trim(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  ONWARD_ASSIGN_OR_RETURN(const auto characters, arguments.TextOrNone(0));
  return rendering.MakeText(std::string(Strip(text, characters, true, true)), self.is_markup());
}

Made Replace(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  ONWARD_ASSIGN_OR_RETURN(const std::string from, ToText(rendering, arguments[0]));
  ONWARD_ASSIGN_OR_RETURN(const std::string to, ToText(rendering, arguments[1]));
  int64_t most = -1;
  if (arguments.has(2) && !arguments[2].is_none()) {
    ONWARD_ASSIGN_OR_RETURN(most, arguments.Integer(2));
  }
  return Replaced(rendering, text, from, to, most);
}

Made Center(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  ONWARD_ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0, 80));
  return Filled(rendering, text, width, " ", 0);
}

Made Indent(Rendering& rendering, const Value& self, const Bound& arguments) {
  if (self.is_undefined()) return UndefinedError(self);
  if (self.text() == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("'indent' needs a text, not a ", self.TypeName()));
  std::string by;
  if (arguments.has(0) && arguments[0].text() != nullptr) {
    by = *arguments[0].text();
  } else {
    ONWARD_ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0, 4));
    if (width > 10000)
      return absl::InvalidArgumentError("'indent' by more than 10000 is not supported");
    by.assign(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
  }
  const bool blank = arguments.Flag(2, false);
  const std::vector<std::string> lines = SplitLines(*self.text() + "\n", false);
  ONWARD_RETURN_IF_ERROR(rendering.Charge(lines.size() * (by.size() + sizeof(std::string))));
  std::string made = arguments.Flag(1, false) ? by : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) absl::StrAppend(&made, "\n", blank || !lines[i].empty() ? by : "");
    made += lines[i];
  }
  return rendering.MakeText(std::move(made), self.is_markup());
}

Made Truncate(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t length, arguments.Integer(0, 255));
  ONWARD_ASSIGN_OR_RETURN(const std::string end, arguments.Text(2, "..."));
  ONWARD_ASSIGN_OR_RETURN(const int64_t leeway, arguments.Integer(3, 5));
  const auto end_size = static_cast<int64_t>(CharacterStarts(end).size()) - 1;
  if (length < end_size || leeway < 0)
    return absl::InvalidArgumentError("'truncate' needs a length of at least that of its end");
  const auto size = LengthOf(self);
  if (size.has_value() && (*size <= length || *size - length <= leeway)) return self;
  if (self.text() == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("'truncate' needs a text, not a ", self.TypeName()));
  const std::vector<size_t> starts = CharacterStarts(*self.text());
  std::string made = self.text()->substr(0, starts[static_cast<size_t>(length - end_size)]);
  const size_t space = made.rfind(' ');
  if (!arguments.Flag(1, false) && space != made.npos) made.resize(space);
  return rendering.MakeText(made + end);
}

Made Format(Rendering& rendering, const Value& self, const Bound& arguments) {
  const Arguments& all = arguments.all();
  if (!all.positional.empty() && !all.named.empty())
    return absl::InvalidArgumentError("'format' takes values by position or by name, not both");
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  if (all.named.empty()) return PercentFormat(rendering, text, Value::OfTuple(all.positional));
  Dict named;
  for (const auto& entry : all.named)
    ONWARD_RETURN_IF_ERROR(named.Set(Value(entry.first), entry.second));
  ONWARD_ASSIGN_OR_RETURN(const Value dict, rendering.MakeDict(std::move(named)));
  return PercentFormat(rendering, text, dict);
}

Made Escape(Rendering& rendering, const Value& self, const Bound&) {
  if (self.is_markup()) return self;
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  return rendering.MakeText(EscapedHtml(text), true);
}

Made ForceEscape(Rendering& rendering, const Value& self, const Bound&) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  return rendering.MakeText(EscapedHtml(text), true);
}

Made Safe(Rendering& rendering, const Value& self, const Bound&) {
  ONWARD_ASSIGN_OR_RETURN(std::string text, ToText(rendering, self));
  return rendering.MakeText(std::move(text), true);
}

Made String(Rendering& rendering, const Value& self, const Bound&) {
  if (self.text() != nullptr) return self;
  ONWARD_ASSIGN_OR_RETURN(std::string text, ToText(rendering, self));
  return rendering.MakeText(std::move(text));
}

Made WordCount(Rendering& rendering, const Value& self, const Bound&) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  int64_t count = 0;
  bool inside = false;
  const std::vector<size_t> starts = CharacterStarts(text);
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::string_view one =
        std::string_view(text).substr(starts[i], starts[i + 1] - starts[i]);
    const bool word = one == "_" || All(one, IsAlphaCharacter) || All(one, IsDigitCharacter);
    count += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value(count);
}

Made UrlEncode(Rendering& rendering, const Value& self, const Bound&) {
  if (self.items() != nullptr || self.AsShared<Dict>() != nullptr)
    return absl::InvalidArgumentError("'urlencode' of several values is not supported");
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  ONWARD_RETURN_IF_ERROR(rendering.Charge(text.size() * 2));
  std::string made;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || std::string_view("/_.-~").find(c) != std::string_view::npos) {
      made += c;
    } else {
      absl::StrAppendFormat(&made, "%%%02X", static_cast<uint8_t>(c));
    }
  }
  return rendering.MakeText(std::move(made));
}

Made ToJsonFilter(Rendering& rendering, const Value& self, const Bound& arguments) {
  JsonStyle style;
  style.ensure_ascii = arguments.Flag(0, false);
  style.sort_keys = arguments.Flag(3, false);
  if (arguments.has(1) && !arguments[1].is_none()) {
    if (const std::string* indent = arguments[1].text()) {
      style.indent = *indent;
    } else {
      ONWARD_ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(1));
      if (width > 100) return absl::InvalidArgumentError("'tojson' indents by more than 100");
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
    }
    style.between_items.assign(1, ',');
  }
  if (arguments.has(2) && !arguments[2].is_none()) {
    const Values* pair = arguments[2].items();
    if (pair == nullptr || pair->size() != 2 || (*pair)[0].text() == nullptr ||
        (*pair)[1].text() == nullptr)
      return absl::InvalidArgumentError("the separators of 'tojson' must be two texts");
    style.between_items = *(*pair)[0].text();
    style.behind_keys = *(*pair)[1].text();
  }
  ONWARD_ASSIGN_OR_RETURN(std::string text, ToJson(rendering, self, style));
  return rendering.MakeText(std::move(text));
}

// Numbers.

Made ToInteger(Rendering&, const Value& self, const Bound& arguments) {
  if (arguments.has(1) && arguments[1].Integer() != 10)
    return absl::InvalidArgumentError("'int' of another base than ten is not supported");
  const Value otherwise = arguments.has(0) ? arguments[0] : Value(int64_t{0});
  if (self.is_undefined()) return UndefinedError(self);
  if (const auto integer = self.Integer()) return Value(*integer);
  std::optional<double> number = self.Number();
  if (const std::string* text = self.text()) {
    bool fits;
    if (const auto integer = ParseInteger(*text, fits)) {
      if (fits) return Value(*integer);
      return absl::InvalidArgumentError("integers beyond 64 bits are not supported");
    }
    number = ParseFloat(*text);
  }
  if (!number.has_value() || std::isnan(*number)) return otherwise;
  if (!(std::abs(*number) < 9.2e18))
    return absl::InvalidArgumentError("integers beyond 64 bits are not supported");
  return Value(static_cast<int64_t>(*number));
}

Made ToFloat(Rendering&, const Value& self, const Bound& arguments) {
  if (self.is_undefined()) return UndefinedError(self);
  if (const auto number = self.Number()) return Value(*number);
  const auto number = self.text() == nullptr ? std::nullopt : ParseFloat(*self.text());
  if (number.has_value()) return Value(*number);
  return arguments.has(0) ? arguments[0] : Value(0.0);
}

Made Absolute(Rendering&, const Value& self, const Bound&) {
  if (self.is_undefined()) return UndefinedError(self);
  if (const auto integer = self.Integer())
    return *integer < 0 ? Signed("-", self) : Value(*integer);
  if (const auto number = self.Number()) return Value(std::abs(*number));
  return absl::InvalidArgumentError(absl::StrCat("'abs' needs a number, not a ", self.TypeName()));
}

Made Round(Rendering&, const Value& self, const Bound& arguments) {
  if (self.is_undefined()) return UndefinedError(self);
  ONWARD_ASSIGN_OR_RETURN(const int64_t precision, arguments.Integer(0, 0));
  ONWARD_ASSIGN_OR_RETURN(const std::string method, arguments.Text(1, "common"));
  const auto number = self.Number();
  if (!number.has_value() || precision < 0 || precision > 100)
    return absl::InvalidArgumentError(absl::StrCat("'round' of a ", self.TypeName(), " to ",
                                                   precision, " places is not possible"));
  if (method == "common") {
    if (self.Integer().has_value()) return Value(*self.Integer());
    const std::string text = absl::StrFormat("%.*f", static_cast<int>(precision), *number);
    return Value(std::isfinite(*number) ? std::strtod(text.c_str(), nullptr) : *number);
  }
  if (method != "ceil" && method != "floor")
    return absl::InvalidArgumentError("the method of 'round' must be common, ceil or floor");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = *number * scale;
  if (!std::isfinite(scaled)) return absl::InvalidArgumentError("'round' of an infinite number");
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

constexpr Builtin kFilters[] = {
    {"abs", "", Absolute},
    {"capitalize", "", Change<Capitalize>},
    {"center", "width?", Center},
    {"e", "", Escape},
    {"escape", "", Escape},
    {"float", "default?", ToFloat},
    {"forceescape", "", ForceEscape},
    {"format", "*", Format},
    {"indent", "width? first? blank?", Indent},
    {"int", "default? base?", ToInteger},
    {"lower", "", Change<Lower>},
    {"replace", "old new count?", Replace},
    {"round", "precision? method?", Round},
    {"safe", "", Safe},
    {"string", "", String},
    {"title", "", Change<TitleFilter>},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", ToJsonFilter},
    {"trim", "chars?", Trim},
    {"truncate", "length? killwords? end? leeway?", Truncate},
    {"upper", "", Change<Upper>},
    {"urlencode", "", UrlEncode},
    {"wordcount", "", WordCount},
};

}  // namespace

Builtins TextFilters() { return kFilters; }

}  // namespace onward::chat_template
