#include "serving/text/tool_choice.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"

namespace onward::serving {
namespace {

using Json = TaskMembers::Json;
using generation::FramedSchema;
using generation::SchemaSequence;

const Json* Member(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> NameOf(const Json& tool) {
  const Json* function = Member(tool, "function");
  const Json* name = function == nullptr ? nullptr : Member(*function, "name");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  return name->get<std::string>();
}

// The schema of a tool's arguments. OpenAI: a function without parameters takes none.
absl::StatusOr<Json> ArgumentsSchema(const Json& tool, const std::string& path) {
  const Json* given = Member(tool["function"], "parameters");
  if (given == nullptr) return Json{{"type", "object"}, {"maxProperties", 0}};
  if (!given->is_object())
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a schema, an object"));
  if (given->empty()) return Json{{"type", "object"}};
  if (const auto type = given->find("type"); type != given->end() && *type != "object")
    return absl::InvalidArgumentError(
        absl::StrCat(path, ".type: a function's arguments are an \"object\""));
  return *given;
}

// The one function that must be called; "" where any of them does.
absl::StatusOr<std::string> NamedBy(const Json& choice) {
  if (choice == "required") return "";
  const Json* type = Member(choice, "type");
  const std::optional<std::string> name = NameOf(choice);
  if (type != nullptr && *type == "function" && name && !name->empty()) return *name;
  return absl::InvalidArgumentError(
      "tool_choice: expected \"auto\", \"none\", \"required\" or "
      "{\"type\": \"function\", \"function\": {\"name\": ...}}");
}

absl::StatusOr<std::vector<FramedSchema>> FramedTools(const Json& tools, const std::string& named,
                                                      const CallForm& form) {
  std::vector<FramedSchema> items;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string path = absl::StrCat("tools[", i, "].function");
    const std::optional<std::string> name = NameOf(tools[i]);
    if (!name) return absl::InvalidArgumentError(absl::StrCat(path, ".name: expected a string"));
    if (!named.empty() && *name != named) continue;
    const std::string schema_path = path + ".parameters";
    absl::StatusOr<Json> schema = ArgumentsSchema(tools[i], schema_path);
    if (!schema.ok()) return schema.status();
    const std::string written =
        Json(*name).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
    items.push_back({absl::StrCat(form.before_name, written, form.before_arguments),
                     *std::move(schema), schema_path, form.after});
  }
  if (items.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("tool_choice: no tool is called '", files::PrintableUtf8(named), "'"));
  return items;
}

absl::StatusOr<SchemaSequence> ForcedCalls(const Json& tools, const Json& choice, bool several,
                                           const CallForm& form) {
  const absl::StatusOr<std::string> named = NamedBy(choice);
  if (!named.ok()) return named.status();
  absl::StatusOr<std::vector<FramedSchema>> items = FramedTools(tools, *named, form);
  if (!items.ok()) return items.status();
  const bool one = !named->empty() || !several || !form.several;
  return SchemaSequence{.begin = form.begin,
                        .items = *std::move(items),
                        .separator = form.separator,
                        .end = form.end,
                        .most = one ? 1 : generation::kNoLimit};
}

}  // namespace

ToolUse ReadTools(TaskMembers& members, std::string_view chat_template) {
  ToolUse use;
  const Json* tools = members.Find("tools");
  const Json* choice = members.Find("tool_choice");
  const Json* parallel = members.Find("parallel_tool_calls");
  if (parallel != nullptr && !parallel->is_boolean())
    members.Fail("parallel_tool_calls", "expected true or false");
  if (tools != nullptr && !tools->is_array()) {
    members.Fail("tools", "expected an array");
    return use;
  }
  if (choice != nullptr && *choice == "none") return use;
  if (tools != nullptr && !tools->empty()) {
    use.offered = tools;
    use.syntax = ToolSyntaxOf(chat_template);
  }
  if (choice == nullptr || *choice == "auto") return use;
  if (use.offered == nullptr) {
    members.Fail("tool_choice", "needs tools");
    return use;
  }
  auto calls = ForcedCalls(*tools, *choice, parallel == nullptr || *parallel == true,
                           CallFormOf(use.syntax, chat_template));
  if (!calls.ok()) {
    members.Fail(calls.status());
    return use;
  }
  use.forced = *std::move(calls);
  if (use.syntax == ToolSyntax::kNone) use.syntax = ToolSyntax::kWholeText;
  return use;
}

}  // namespace onward::serving
