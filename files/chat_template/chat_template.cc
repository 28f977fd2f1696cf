#include "files/chat_template/chat_template.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/evaluator.h"
#include "files/chat_template/parser.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::files {
namespace {

using chat_template::Dict;
using chat_template::Value;
using nlohmann::ordered_json;

constexpr int kDeepest = 64;

absl::StatusOr<Value> ValueOf(const ordered_json& json, int depth) {
  if (depth > kDeepest)
    return absl::InvalidArgumentError(
        absl::StrCat("the variables are nested more than ", kDeepest, " times"));
  if (json.is_null()) return Value();
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return absl::InvalidArgumentError("the variables have an integer beyond 64 bits");
  if (json.is_number_integer()) return Value(json.get<int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (!IsUtf8(text))
      return absl::InvalidArgumentError("the variables have text that is not UTF-8");
    return Value(text);
  }
  if (json.is_array()) {
    chat_template::Values items;
    items.reserve(json.size());
    for (const ordered_json& item : json) {
      ONWARD_ASSIGN_OR_RETURN(Value value, ValueOf(item, depth + 1));
      items.push_back(std::move(value));
    }
    return Value::OfList(std::move(items));
  }
  if (!json.is_object()) return absl::InvalidArgumentError("the variables have bytes");
  Dict dict;
  for (const auto& [key, member] : json.items()) {
    ONWARD_ASSIGN_OR_RETURN(Value value, ValueOf(member, depth + 1));
    ONWARD_RETURN_IF_ERROR(dict.Set(Value(key), std::move(value)));
  }
  return Value(Value::Payload(std::make_shared<const Dict>(std::move(dict))));
}

}  // namespace

absl::StatusOr<ChatTemplate> ChatTemplate::Parse(std::string_view source) {
  absl::StatusOr<chat_template::Syntax> syntax = chat_template::Parse(source);
  if (!syntax.ok()) return Annotate(syntax.status(), "chat template:");
  return ChatTemplate(std::make_shared<const chat_template::Syntax>(*std::move(syntax)),
                      std::make_shared<const std::string>(source));
}

absl::StatusOr<std::string> ChatTemplate::Render(const ordered_json& variables,
                                                 absl::Time now) const {
  if (!variables.is_object())
    return absl::InvalidArgumentError("the variables of a chat template are not an object");
  ONWARD_ASSIGN_OR_RETURN(const Value value, ValueOf(variables, 0));
  chat_template::Rendering rendering(now);
  chat_template::Evaluator evaluator(rendering, *value.AsShared<Dict>());
  absl::StatusOr<std::string> made = evaluator.Run(*syntax_);
  if (!made.ok()) return Annotate(made.status(), "chat template:");
  return made;
}

}  // namespace onward::files
