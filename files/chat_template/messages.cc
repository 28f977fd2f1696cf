#include "files/chat_template/messages.h"

#include <string>
#include <utility>

namespace onward::files {

using Json = nlohmann::ordered_json;

Json WithParsedArguments(Json messages) {
  for (Json& message : messages) {
    if (!message.is_object() || !message.contains("tool_calls")) continue;
    Json& calls = message["tool_calls"];
    if (!calls.is_array()) continue;
    for (Json& call : calls) {
      if (!call.is_object() || !call.contains("function")) continue;
      Json& function = call["function"];
      if (!function.is_object() || !function.contains("arguments")) continue;
      Json& arguments = function["arguments"];
      if (!arguments.is_string()) continue;
      Json parsed = Json::parse(arguments.get<std::string>(), nullptr, /*allow_exceptions=*/false);
      if (parsed.is_object()) arguments = std::move(parsed);
    }
  }
  return messages;
}

}  // namespace onward::files
