// OpenAI's chat as clients see it, over sockets.
#include <cmath>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serving/text_server.h"

namespace onward::serving {
namespace {

using onward::testing::Client;
using onward::testing::Reply;
using ::testing::HasSubstr;

class ChatTest : public TextServerTest {
 protected:
  // The prompt is what the messages say, one after the other.
  void StartChat(const std::string& text = "{% for m in messages %}{{ m.content }}{% endfor %}") {
    TextFacts facts;
    facts.chat_template = files::ChatTemplate::Parse(text);
    ASSERT_TRUE(facts.chat_template.ok()) << facts.chat_template.status();
    Start(std::move(facts));
  }
  static json Ask(const json& more = json::object()) {
    json body = {
        {"model", "letters"},
        {"temperature", 0},
        {"messages",
         {{{"role", "system"}, {"content", "ab"}}, {{"role", "user"}, {"content", "vw"}}}}};
    body.update(more);
    return body;
  }
};

TEST_F(ChatTest, ContinuesAConversation) {
  StartChat();
  const json reply = Posted("/v1/chat/completions", Ask());
  EXPECT_EQ(reply["object"], "chat.completion");
  EXPECT_EQ(reply["choices"][0]["message"],
            json::parse(R"({"role":"assistant","content":"xyzé.!?","refusal":null})"));
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 4);
}

TEST_F(ChatTest, StreamsARoleAndThenPieces) {
  StartChat();
  const Reply reply = Post("/v1/chat/completions", Ask({{"stream", true}, {"n", 2}}));
  EXPECT_EQ(reply.status, 200);
  const std::vector<std::string> events = Events(reply.body);
  std::map<int, std::string> texts;
  std::map<int, int> roles, ends;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json event = json::parse(events[i]);
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    const json& choice = event["choices"][0];
    const int index = choice["index"];
    roles[index] += choice["delta"].contains("role") ? 1 : 0;
    if (choice["delta"].contains("content"))
      texts[index] += choice["delta"]["content"].get<std::string>();
    ends[index] += choice["finish_reason"] == "stop" ? 1 : 0;
  }
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(texts, (std::map<int, std::string>{{0, "xyzé.!?"}, {1, "xyzé.!?"}}));
  EXPECT_EQ(roles, (std::map<int, int>{{0, 1}, {1, 1}}));
  EXPECT_EQ(ends, (std::map<int, int>{{0, 1}, {1, 1}}));
}

// The letter y is a call of a tool here.
class ToolCallsOfChatTest : public ChatTest {
 protected:
  void StartTools() {
    constexpr char kCall[] = R"("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>")";
    const auto tokenizer =
        files::Tokenizer::Parse(absl::StrReplaceAll(LettersTokenizerJson(), {{"\"y\"", kCall}}));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    TextFacts facts;
    facts.chat_template = files::ChatTemplate::Parse(
        "{% for m in messages %}{% if m.tool_calls %}{{ m.tool_calls[0].function.arguments.s }}"
        "{% else %}{{ m.content }}{% endif %}{% endfor %}{# <tool_call> #}");
    ASSERT_TRUE(facts.chat_template.ok()) << facts.chat_template.status();
    Start(std::move(facts), *tokenizer);
  }
  static json AskWithTools(const json& more = json::object()) {
    json body = Ask({{"tools", {{{"type", "function"}, {"function", {{"name", "f"}}}}}}});
    body.update(more);
    return body;
  }
};

TEST_F(ToolCallsOfChatTest, AreMembersOfTheMessage) {
  StartTools();
  const json reply = Posted("/v1/chat/completions", AskWithTools());
  const json& choice = reply["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "xzé.!?");
  const json& calls = choice["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"], json::parse(R"({"name":"f","arguments":"{\"a\":1}"})"));
  EXPECT_FALSE(calls[0]["id"].get<std::string>().empty());
  // Nothing but a call.
  const json alone = Posted(
      "/v1/chat/completions",
      AskWithTools({{"max_tokens", 1}, {"messages", {{{"role", "user"}, {"content", "x"}}}}}));
  EXPECT_TRUE(alone["choices"][0]["message"]["content"].is_null());
  EXPECT_EQ(alone["choices"][0]["finish_reason"], "length");
}

TEST_F(ToolCallsOfChatTest, AreStreamed) {
  StartTools();
  const Reply reply = Post("/v1/chat/completions", AskWithTools({{"stream", true}}));
  std::string text;
  json calls = json::array(), finish;
  for (const std::string& event : Events(reply.body)) {
    if (event == "[DONE]") continue;
    const json choice = json::parse(event)["choices"][0];
    text += choice["delta"].value("content", "");
    for (const json& call : choice["delta"].value("tool_calls", json::array()))
      calls.push_back(call);
    if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
  }
  EXPECT_EQ(text, "xzé.!?");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["index"], 0);
  EXPECT_EQ(calls[0]["function"]["arguments"], R"({"a":1})");
  EXPECT_EQ(finish, "tool_calls");
}

TEST_F(ToolCallsOfChatTest, StayTextWhereNoToolIsGiven) {
  StartTools();
  for (const json& body :
       {Ask(), AskWithTools({{"tool_choice", "none"}}), AskWithTools({{"tools", json::array()}})}) {
    const json reply = Posted("/v1/chat/completions", body);
    EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop") << body;
    EXPECT_THAT(reply["choices"][0]["message"]["content"].get<std::string>(),
                HasSubstr("x<tool_call>{"));
  }
}

// Clients send a call's arguments back as a string; templates get what it says.
TEST_F(ToolCallsOfChatTest, ArgumentsOfEarlierCallsAreRead) {
  StartTools();
  const json call = {{"type", "function"},
                     {"function", {{"name", "f"}, {"arguments", R"({"s": "vw"})"}}}};
  const json reply = Posted(
      "/v1/chat/completions",
      Ask({{"messages", {{{"role", "assistant"}, {"tool_calls", {call}}}}}, {"max_tokens", 1}}));
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(reply["choices"][0]["message"]["content"], "x");
}

TEST_F(ChatTest, GivesLogProbabilitiesWithBytes) {
  StartChat();
  const json reply = Posted("/v1/chat/completions",
                            Ask({{"logprobs", true}, {"top_logprobs", 1}, {"max_tokens", 1}}));
  const json& scored = reply["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(scored["token"], "x");
  EXPECT_EQ(scored["bytes"], json({120}));
  EXPECT_NEAR(scored["logprob"], 4 - std::log(std::exp(4) + 31), 1e-6);
  EXPECT_EQ(scored["top_logprobs"].size(), 1u);
}

TEST_F(ChatTest, TellsWhatTheTemplateRefuses) {
  StartChat("{{ raise_exception('roles must alternate') }}");
  const Reply reply = Post("/v1/chat/completions", Ask());
  EXPECT_EQ(reply.status, 400);
  const json error = json::parse(reply.body)["error"];
  EXPECT_EQ(error["param"], "messages");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("roles must alternate"));
}

TEST_F(ChatTest, AModelWithoutATemplateSaysSo) {
  Start();
  const Reply reply = Post("/v1/chat/completions", Ask());
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("it cannot chat: the model has no chat template; "
                                    "/v1/completions takes it"));
}

TEST_F(ChatTest, MessagesAreChecked) {
  StartChat();
  for (const json& messages :
       {json(nullptr), json("hi"), json::array(), json::array({"hi"}), json({{{"role", 3}}})}) {
    const Reply reply = Post("/v1/chat/completions", {{"messages", messages}});
    EXPECT_EQ(reply.status, 400) << messages;
    EXPECT_THAT(reply.body, HasSubstr("messages")) << messages;
  }
}

}  // namespace
}  // namespace onward::serving
