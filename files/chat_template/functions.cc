// Functions that every template has.
#include <ctime>

#include "absl/strings/str_cat.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Made = absl::StatusOr<Value>;

constexpr int64_t kLongestRange = 100000;  // as of Jinja's sandbox

Made MakeRange(Rendering&, const Value&, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t first, arguments.Integer(0));
  Range range{0, first, 1};
  if (arguments.has(1)) {
    ONWARD_ASSIGN_OR_RETURN(range.stop, arguments.Integer(1));
    range.start = first;
    ONWARD_ASSIGN_OR_RETURN(range.step, arguments.Integer(2, 1));
  }
  constexpr int64_t kFar = int64_t{1} << 60;
  if (range.step == 0) return absl::InvalidArgumentError("the step of a range is zero");
  if (range.start < -kFar || range.start > kFar || range.stop < -kFar || range.stop > kFar ||
      range.step < -kFar || range.step > kFar || range.size() > kLongestRange)
    return absl::InvalidArgumentError(
        absl::StrCat("a range has more than ", kLongestRange, " numbers"));
  return Value(Value::Payload(range));
}

// Entries of a dict or of pairs, then those by name.
absl::StatusOr<Dict> Entries(Rendering& rendering, const Arguments& arguments) {
  Dict made;
  if (arguments.positional.size() > 1)
    return absl::InvalidArgumentError("'dict' takes one argument without a name");
  for (const Value& given : arguments.positional) {
    if (const Dict* dict = given.AsShared<Dict>()) {
      made = *dict;
      continue;
    }
    ONWARD_ASSIGN_OR_RETURN(const Values pairs, ItemsOf(rendering, given));
    for (const Value& pair : pairs) {
      ONWARD_ASSIGN_OR_RETURN(const Values parts, ItemsOf(rendering, pair));
      if (parts.size() != 2) return absl::InvalidArgumentError("'dict' needs pairs");
      ONWARD_RETURN_IF_ERROR(made.Set(parts[0], parts[1]));
    }
  }
  for (const auto& [name, value] : arguments.named)
    ONWARD_RETURN_IF_ERROR(made.Set(Value(name), value));
  ONWARD_RETURN_IF_ERROR(rendering.Charge(made.entries().size() * 4 * sizeof(Value)));
  return made;
}

Made MakeDict(Rendering& rendering, const Value&, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(Dict dict, Entries(rendering, arguments.all()));
  return rendering.MakeDict(std::move(dict));
}

Made MakeNamespace(Rendering& rendering, const Value&, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(Dict dict, Entries(rendering, arguments.all()));
  Namespace* made = rendering.MakeNamespace();
  made->attributes = std::move(dict);
  return Value(Value::Payload(made));
}

Made RaiseException(Rendering& rendering, const Value&, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string message, ToText(rendering, arguments[0]));
  return absl::InvalidArgumentError(absl::StrCat("the chat template refuses: ", message));
}

Made FormatNow(Rendering& rendering, const Value&, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string format, arguments.Text(0));
  if (format.size() > 200) return absl::InvalidArgumentError("the format of a time is too long");
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    const char c = ++i < format.size() ? format[i] : '\0';
    if (c == '\0' ||
        std::string_view("aAbBcdDeFHIjmMnprRStTuUVwWxXyY%G-").find(c) == std::string_view::npos)
      return absl::InvalidArgumentError("the format of a time has an unknown directive");
  }
  const std::time_t seconds = absl::ToTimeT(rendering.now());
  std::tm parts;
  localtime_r(&seconds, &parts);
  std::string made(8192, '\0');
  made.resize(std::strftime(made.data(), made.size(), format.c_str(), &parts));
  return rendering.MakeText(std::move(made));
}

constexpr Builtin kFunctions[] = {
    {"range", "start stop? step?", MakeRange}, {"dict", "*", MakeDict},
    {"namespace", "*", MakeNamespace},         {"raise_exception", "message", RaiseException},
    {"strftime_now", "format", FormatNow},
};

}  // namespace

Builtins Functions() { return kFunctions; }

}  // namespace onward::chat_template
