#include "serving/text/chat_prompt.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/messages.h"

namespace onward::serving {

using Json = TaskMembers::Json;

ChatPrompt ReadChatPrompt(TaskMembers& members, const TextModel& model) {
  ChatPrompt prompt;
  const auto fail = [&](const std::string& name, const std::string& what) {
    members.Fail(name, what);
    return ChatPrompt();
  };
  const Json* messages = members.Find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty())
    return fail("messages", "expected an array of at least one message");
  for (size_t i = 0; i < messages->size(); ++i) {
    const Json& message = (*messages)[i];
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      return fail(absl::StrCat("messages[", i, "]"), "expected an object with a role");
  }
  const TextFacts& facts = model.facts();
  Json variables = {{"messages", files::WithParsedArguments(*messages)},
                    {"add_generation_prompt", true},
                    {"bos_token", facts.bos_token},
                    {"eos_token", facts.eos_token}};
  prompt.tools = ReadTools(members, facts.chat_template->source());
  if (prompt.tools.offered != nullptr) variables["tools"] = *prompt.tools.offered;
  if (const Json* more = members.Find("chat_template_kwargs"); more != nullptr)
    if (more->is_object()) variables.update(*more);
  const absl::StatusOr<std::string> text = facts.chat_template->Render(variables);
  if (!text.ok()) return fail("messages", std::string(text.status().message()));
  // The template writes the tokens that begin a text itself.
  auto tokens = model.tokenizer().Encode(*text, /*add_special=*/false);
  if (!tokens.ok()) return fail("messages", std::string(tokens.status().message()));
  if (tokens->empty()) return fail("messages", "the chat template makes no text of them");
  prompt.tokens = *std::move(tokens);
  prompt.text = *text;
  return prompt;
}

}  // namespace onward::serving
