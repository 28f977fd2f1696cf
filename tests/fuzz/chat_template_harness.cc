#include <nlohmann/json.hpp>

#include "files/chat_template/chat_template.h"
#include "files/utf8.h"
#include "tests/fuzz/harnesses.h"

namespace onward::fuzz {
namespace {

constexpr char kVariables[] = R"({"messages":[{"role":"system","content":"You are  Bob.\n"},
    {"role":"user","content":[{"type":"text","text":"Gr\u00fc\u00dfe <b>"}]},
    {"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":{"x":1.5}}}]}],
    "tools":[{"function":{"name":"f"}}],"add_generation_prompt":true,"bos_token":"<s>","n":3})";

}  // namespace

void ChatTemplateText(const uint8_t* data, size_t size) {
  const auto made =
      files::ChatTemplate::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!made.ok()) return;
  const auto text = made->Render(nlohmann::ordered_json::parse(kVariables));
  if (text.ok() && !files::IsUtf8(*text)) __builtin_trap();
}

}  // namespace onward::fuzz
