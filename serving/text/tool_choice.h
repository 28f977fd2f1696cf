// The tools of a chat request, and which of them its text must call.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "generation/grammar/json_schema.h"
#include "serving/text/task_members.h"
#include "serving/text/tool_calls.h"

namespace onward::serving {

struct ToolUse {
  const nlohmann::ordered_json* offered = nullptr;  // to the chat template; null: none
  ToolSyntax syntax = ToolSyntax::kNone;            // of the calls that the text may have
  // The calls that the text must be, by the parameters of their tools; none: any text.
  std::optional<generation::SchemaSequence> forced;
};

// Reads tools, tool_choice and parallel_tool_calls. Calls that must come have the form that the
// chat template shows; where it shows none, the text is an array of them.
ToolUse ReadTools(TaskMembers& members, std::string_view chat_template);

}  // namespace onward::serving
