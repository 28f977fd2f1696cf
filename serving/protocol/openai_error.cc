#include "serving/protocol/openai_error.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"

namespace onward::serving {
namespace {

using nlohmann::ordered_json;

const char* TypeOf(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
    case 503:
      return "server_overloaded";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

// The member that a message begins with, "messages[0].role"; "" where it names none.
std::string NamedMember(const std::string& message) {
  const std::string name = message.substr(0, message.find(": "));
  if (name.size() == message.size()) return "";
  for (const char c : name)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        std::string("_.[]").find(c) == std::string::npos)
      return "";
  return name;
}

}  // namespace

HttpReply AsOpenAiError(HttpReply reply) {
  if (reply.status < 400) return reply;
  const auto document = ordered_json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("error") || !document["error"].is_string())
    return reply;
  const auto message = document["error"].get<std::string>();
  const std::string member = NamedMember(message);
  const ordered_json error = {
      {"message", message},
      {"type", TypeOf(reply.status)},
      {"param", member.empty() ? ordered_json(nullptr) : ordered_json(member)},
      {"code", reply.status == 404 ? ordered_json("model_not_found") : ordered_json(nullptr)}};
  reply.body =
      ordered_json{{"error", error}}.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return reply;
}

}  // namespace onward::serving
