#include "files/chat_template/builtins.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/chat_template/operators.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {

absl::StatusOr<Bound> Bound::Bind(const std::string& name, std::string_view params,
                                  const Arguments& arguments) {
  Bound made;
  made.name_ = name;
  made.all_ = &arguments;
  if (params == "*") return made;
  std::vector<std::string> names = absl::StrSplit(std::string(params), ' ', absl::SkipEmpty());
  made.values_.resize(names.size());
  if (arguments.positional.size() > names.size())
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' takes at most ", names.size(),
                                                   " arguments, not ",
                                                   arguments.positional.size()));
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    made.values_[i] = arguments.positional[i];
  std::vector<bool> optional;
  for (std::string& param : names) {
    optional.push_back(param.back() == '?');
    if (optional.back()) param.pop_back();
  }
  for (const auto& [key, value] : arguments.named) {
    const auto at = static_cast<size_t>(std::find(names.begin(), names.end(), key) - names.begin());
    if (at == names.size())
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' has no parameter '", files::PrintableUtf8(key), "'"));
    if (made.values_[at].has_value())
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is given '", key, "' twice"));
    made.values_[at] = value;
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (!made.values_[i].has_value() && !optional[i])
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' lacks its '", names[i], "'"));
  return made;
}

absl::StatusOr<int64_t> Bound::Integer(size_t i, std::optional<int64_t> otherwise) const {
  if (!has(i) && otherwise.has_value()) return *otherwise;
  const auto integer = values_[i]->Integer();
  if (integer.has_value()) return *integer;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name_, "' needs an integer, not a ", values_[i]->TypeName()));
}

absl::StatusOr<std::string> Bound::Text(size_t i, std::optional<std::string> otherwise) const {
  if (!has(i) && otherwise.has_value()) return *std::move(otherwise);
  if (const std::string* text = values_[i]->text()) return *text;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name_, "' needs a text, not a ", values_[i]->TypeName()));
}

absl::StatusOr<std::optional<std::string>> Bound::TextOrNone(size_t i) const {
  if (!has(i) || values_[i]->is_none()) return std::optional<std::string>();
  ONWARD_ASSIGN_OR_RETURN(std::string text, Text(i));
  return std::optional<std::string>(std::move(text));
}

const Builtin* FindBuiltin(Builtins rows, std::string_view name) {
  for (const Builtin& row : rows)
    if (name == row.name) return &row;
  return nullptr;
}

absl::StatusOr<Value> CallBuiltin(Rendering& rendering, const Builtin& builtin, const Value& self,
                                  const Arguments& arguments) {
  ONWARD_RETURN_IF_ERROR(
      rendering.Charge(64 + (self.text() == nullptr ? 0 : 2 * self.text()->size())));
  ONWARD_ASSIGN_OR_RETURN(const Bound bound, Bound::Bind(builtin.name, builtin.params, arguments));
  return builtin.call(rendering, self, bound);
}

namespace {

const Builtin* FindFilter(std::string_view name) {
  for (const Builtins rows : {TextFilters(), SequenceFilters(), SelectionFilters()})
    if (const Builtin* found = FindBuiltin(rows, name)) return found;
  return nullptr;
}

}  // namespace

bool IsFilter(std::string_view name) { return FindFilter(name) != nullptr; }
bool IsTest(std::string_view name) { return FindBuiltin(Tests(), name) != nullptr; }

absl::StatusOr<Value> CallFilter(Rendering& rendering, const std::string& name, const Value& self,
                                 const Arguments& arguments) {
  const Builtin* filter = FindFilter(name);
  if (filter == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("the filter '", files::PrintableUtf8(name), "' is not supported"));
  static constexpr const char* kPlain[] = {"center", "format", "reverse", "title", "truncate"};
  for (const char* plain : kPlain)
    if (self.is_markup() && name == plain)
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' of escaped text is not supported"));
  return CallBuiltin(rendering, *filter, self, arguments);
}

absl::StatusOr<bool> CallTest(Rendering& rendering, const std::string& name, const Value& self,
                              const Arguments& arguments) {
  const Builtin* test = FindBuiltin(Tests(), name);
  if (test == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("the test '", files::PrintableUtf8(name), "' is not supported"));
  ONWARD_ASSIGN_OR_RETURN(const Value value, CallBuiltin(rendering, *test, self, arguments));
  return value.IsTrue();
}

std::optional<Value> FindFunction(Rendering& rendering, std::string_view name) {
  const Builtin* found = FindBuiltin(Functions(), name);
  if (found == nullptr) return std::nullopt;
  const auto call = [found, &rendering](const Arguments& arguments) {
    return CallBuiltin(rendering, *found, Value(), arguments);
  };
  return Value(Value::Payload(std::make_shared<const Callable>(Callable{found->name, call})));
}

}  // namespace onward::chat_template
