#include "files/chat_template/messages.h"

#include "gtest/gtest.h"

namespace onward::files {
namespace {

using Json = nlohmann::ordered_json;

Json CallWith(const Json& arguments) {
  return {{{"role", "user"}, {"content", "{}"}},
          {{"role", "assistant"},
           {"tool_calls",
            {{{"type", "function"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}}}}};
}

TEST(MessagesTest, ArgumentsInStringsBecomeObjects) {
  EXPECT_EQ(WithParsedArguments(CallWith(R"({"a": [1]})")), CallWith({{"a", {1}}}));
  EXPECT_EQ(WithParsedArguments(CallWith("{}")), CallWith(Json::object()));
}

TEST(MessagesTest, AllElseStays) {
  for (const Json& arguments :
       {Json("{"), Json("[1]"), Json("7"), Json(7), Json(nullptr), Json::object({{"a", "{}"}})})
    EXPECT_EQ(WithParsedArguments(CallWith(arguments)), CallWith(arguments));
  for (const char* messages :
       {"[]", "{}", "null", "3", "[3, \"x\", [], {}]", R"([{"tool_calls": 3}])",
        R"([{"tool_calls": [3, {"function": 4}, {"function": {}}, {}]}])"})
    EXPECT_EQ(WithParsedArguments(Json::parse(messages)), Json::parse(messages)) << messages;
}

}  // namespace
}  // namespace onward::files
