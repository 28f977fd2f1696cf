// The prompt of a chat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serving/text/task_members.h"
#include "serving/text/text_model.h"
#include "serving/text/tool_choice.h"

namespace onward::serving {

struct ChatPrompt {
  std::string text;
  std::vector<int64_t> tokens;
  ToolUse tools;
};

// Reads messages, tools, tool_choice and chat_template_kwargs: the conversation as the model's chat
// template, which it has, writes it. Errors are left in `members`.
ChatPrompt ReadChatPrompt(TaskMembers& members, const TextModel& model);

}  // namespace onward::serving
