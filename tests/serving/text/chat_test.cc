// OpenAI's chat as clients see it, over sockets.
#include <cmath>

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
