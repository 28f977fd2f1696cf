// OpenAI's completions as clients see them, over sockets.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serving/text_server.h"

namespace onward::serving {
namespace {

using onward::testing::Client;
using onward::testing::Reply;
using ::testing::HasSubstr;

class CompletionsTest : public TextServerTest {
 protected:
  json Completion(json body) {
    body.emplace("model", "letters");
    body.emplace("temperature", 0);
    return Posted("/v1/completions", body);
  }
  static std::string TextOf(const json& reply) { return reply["choices"][0]["text"]; }
};

TEST_F(CompletionsTest, ContinuesAPrompt) {
  Start();
  const json reply = Completion({{"prompt", "uvw"}, {"max_tokens", 20}});
  EXPECT_EQ(reply["object"], "text_completion");
  EXPECT_EQ(reply["model"], "letters");
  EXPECT_EQ(
      reply["choices"],
      json::parse(R"([{"index":0,"text":"xyzé.!?","logprobs":null,"finish_reason":"stop"}])"));
  // Eight letters, of which two are the bytes of one character, and the end.
  EXPECT_EQ(reply["usage"],
            json::parse(R"({"prompt_tokens":3,"completion_tokens":9,"total_tokens":12})"));
}

TEST_F(CompletionsTest, EndsByLength) {
  Start();
  EXPECT_EQ(TextOf(Completion({{"prompt", "a"}})), "bcdefghijklmnopq");  // 16 by default
  const json reply = Completion({{"prompt", "a"}, {"max_tokens", 2}});
  EXPECT_EQ(TextOf(reply), "bc");
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "length");
}

TEST_F(CompletionsTest, EndsByStopsOverTokens) {
  Start();
  const json reply = Completion({{"prompt", "a"}, {"max_tokens", 30}, {"stop", {"xyz", "efg"}}});
  EXPECT_EQ(TextOf(reply), "bcd");
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(TextOf(Completion({{"prompt", "x"}, {"max_tokens", 30}, {"stop", "é"}})), "yz");
  // Half of a character is not text, whichever way it ends.
  EXPECT_EQ(TextOf(Completion({{"prompt", "x"}, {"max_tokens", 3}})), "yz\uFFFD");
}

TEST_F(CompletionsTest, TakesSeveralPromptsAndChoices) {
  Start();
  const json reply = Completion({{"prompt", {"a", "k"}}, {"max_tokens", 3}, {"n", 2}});
  std::vector<std::string> texts;
  for (const json& choice : reply["choices"]) {
    EXPECT_EQ(choice["index"], texts.size());
    texts.push_back(choice["text"]);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"bcd", "bcd", "lmn", "lmn"}));
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 12);
  EXPECT_EQ(TextOf(Completion({{"prompt", {2, 3}}, {"max_tokens", 2}})), "de");  // tokens of "bc"
}

TEST_F(CompletionsTest, StreamsWholeCharacters) {
  Start();
  const Reply reply = Post("/v1/completions", {{"model", "letters"},
                                               {"prompt", "w"},
                                               {"temperature", 0},
                                               {"max_tokens", 30},
                                               {"stream", true},
                                               {"stream_options", {{"include_usage", true}}}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Type: text/event-stream"));
  const std::vector<std::string> events = Events(reply.body);
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events.back(), "[DONE]");
  std::string text;
  std::string finish;
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    const json event = json::parse(events[i]);
    text += event["choices"][0]["text"];
    EXPECT_THAT(event["choices"][0]["text"].get<std::string>(),
                ::testing::Not(HasSubstr("\uFFFD")));
    if (!event["choices"][0]["finish_reason"].is_null())
      finish = event["choices"][0]["finish_reason"];
  }
  EXPECT_EQ(text, "xyzé.!?");
  EXPECT_EQ(finish, "stop");
  const json usage = json::parse(events[events.size() - 2]);
  EXPECT_EQ(usage["usage"]["completion_tokens"], 9);
  EXPECT_EQ(usage["choices"], json::array());
  // The connection stays usable.
  EXPECT_EQ(TextOf(Completion({{"prompt", "a"}, {"max_tokens", 1}})), "b");
}

TEST_F(CompletionsTest, AClientOfHttp10ReadsAStreamUntilItCloses) {
  Start();
  const std::string body = R"({"prompt":"y","temperature":0,"stream":true})";
  client_->Send(absl::StrCat("POST /v1/completions HTTP/1.0\r\nHost: t\r\nContent-Length: ",
                             body.size(), "\r\n\r\n", body));
  const Reply reply = client_->ReadHead();
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Connection: close"));
  EXPECT_THAT(reply.head, ::testing::Not(HasSubstr("chunked")));
  std::string text;
  const std::vector<std::string> events = Events(client_->ReadRest());
  for (size_t i = 0; i + 1 < events.size(); ++i)
    text += json::parse(events[i])["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, "zé.!?");
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(CompletionsTest, GivesLogProbabilities) {
  Start();
  const json reply = Completion({{"prompt", "ab"}, {"max_tokens", 2}, {"logprobs", 2}});
  const json scores = reply["choices"][0]["logprobs"];
  EXPECT_EQ(scores["tokens"], json({"c", "d"}));
  EXPECT_EQ(scores["text_offset"], json({0, 1}));
  // One score of 4 among 31 of 0.
  const double expected = 4 - std::log(std::exp(4) + 31);
  EXPECT_NEAR(scores["token_logprobs"][0], expected, 1e-6);
  EXPECT_EQ(scores["top_logprobs"][1].size(), 2u);
  EXPECT_NEAR(scores["top_logprobs"][1]["d"], expected, 1e-6);
}

TEST_F(CompletionsTest, EchoesThePrompt) {
  Start();
  EXPECT_EQ(TextOf(Completion({{"prompt", "ab"}, {"max_tokens", 2}, {"echo", true}})), "abcd");
  const json reply =
      Completion({{"prompt", "abd"}, {"max_tokens", 1}, {"echo", true}, {"logprobs", 0}});
  const json scores = reply["choices"][0]["logprobs"];
  EXPECT_EQ(TextOf(reply), "abde");
  EXPECT_EQ(scores["tokens"], json({"a", "b", "d", "e"}));
  EXPECT_EQ(scores["text_offset"], json({0, 1, 2, 3}));
  EXPECT_TRUE(scores["token_logprobs"][0].is_null());
  const double likely = 4 - std::log(std::exp(4) + 31);
  EXPECT_NEAR(scores["token_logprobs"][1], likely, 1e-6);
  EXPECT_NEAR(scores["token_logprobs"][2], likely - 4, 1e-6);  // "d" does not follow "b"
}

TEST_F(CompletionsTest, ASeedRepeatsADraw) {
  Start();
  const json ask = {{"prompt", "a"}, {"max_tokens", 12}, {"temperature", 2}, {"seed", 7}};
  const std::string first = TextOf(Completion(ask));
  EXPECT_EQ(TextOf(Completion(ask)), first);
}

TEST_F(CompletionsTest, PenaltiesAndBiasChangeTheChoice) {
  Start();
  // The next letter has 4, all others 0: "c" is token 3, the end is token 0.
  json ask = {{"prompt", "a"}, {"max_tokens", 3}, {"logit_bias", {{"3", 9}}}};
  EXPECT_EQ(TextOf(Completion(ask)), "ccc");
  ask["frequency_penalty"] = 2;  // 9, 7, 5 for "c", then 4 for "d" and 3 for "c"
  ask["max_tokens"] = 4;
  EXPECT_EQ(TextOf(Completion(ask)), "cccd");
  ask["frequency_penalty"] = 0;
  ask["presence_penalty"] = 2;
  ask["logit_bias"] = {{"3", 5}};  // 5, then 3 against 4, then 3 against 4 of the next
  EXPECT_EQ(TextOf(Completion(ask)), "cdef");
  ask["logit_bias"] = {{"0", 100}};
  EXPECT_EQ(TextOf(Completion(ask)), "");
}

TEST_F(CompletionsTest, NamesWhatIsWrong) {
  Start({.context = 12});
  const auto error = [this](json body) {
    body.emplace("model", "letters");
    const Reply reply = Post("/v1/completions", body);
    const json document = json::parse(reply.body, nullptr, false);
    if (!document.is_object()) return reply.body;
    return absl::StrCat(reply.status, " ", document["error"]["param"].dump(), " ",
                        document["error"]["message"].get<std::string>());
  };
  EXPECT_EQ(error({}), "400 \"prompt\" prompt: is missing");
  EXPECT_EQ(error({{"prompt", 3}}),
            "400 \"prompt\" prompt: expected a string, an array of tokens, or an array of one of "
            "these");
  EXPECT_THAT(error({{"prompt", "A"}}), HasSubstr("400 \"prompt\" prompt: "));
  EXPECT_THAT(error({{"prompt", {400}}, {"max_tokens", 2}}), HasSubstr("400 "));
  EXPECT_EQ(error({{"prompt", "a"}, {"temperature", 3}}),
            "400 \"temperature\" temperature: is 3, expected a number from 0 to 2");
  EXPECT_EQ(error({{"prompt", "a"}, {"presence_penalty", 2.5}}),
            "400 \"presence_penalty\" presence_penalty: is 2.5, expected a number from -2 to 2");
  EXPECT_EQ(error({{"prompt", "a"}, {"logit_bias", {{"32", 1}}}}),
            "400 \"logit_bias.32\" logit_bias.32: expected the number of a token, from 0 to 31");
  EXPECT_EQ(error({{"prompt", "a"}, {"logit_bias", {{"3", 101}}}}),
            "400 \"logit_bias.3\" logit_bias.3: is 101, expected a number from -100 to 100");
  EXPECT_EQ(error({{"prompt", "a"}, {"max_tokens", "5"}}),
            "400 \"max_tokens\" max_tokens: is a string, expected a whole number from 0 to "
            "2147483647");
  EXPECT_EQ(error({{"prompt", "a"}, {"max_tokens", 2}, {"temprature", 1}}),
            "400 \"temprature\" temprature: is not a member of this request; did you mean "
            "'temperature'?");
  EXPECT_EQ(error({{"prompt", "a"}, {"max_tokens", 12}}),
            "400 \"max_tokens\" max_tokens: the model takes 12 tokens; the prompt has 1 and 12 are "
            "asked for: shorten the prompt or lower max_tokens");
  EXPECT_EQ(error({{"prompt", "a"}, {"model", "letter"}}).substr(0, 4), "404 ");
  EXPECT_EQ(
      error({{"prompt", "a"}, {"max_tokens", 2}, {"response_format", {{"type", "json_object"}}}}),
      "400 \"response_format\" response_format: the model's tokens cannot write an object "
      "of JSON");
  EXPECT_EQ(error({{"prompt", "a"}, {"max_tokens", 2}, {"stop", ""}}),
            "400 \"stop\" stop: has an empty string, which ends every text");
  const Reply broken = client_->Ask("POST", "/v1/completions", "{\"prompt\":");
  EXPECT_EQ(broken.status, 400);
  EXPECT_EQ(json::parse(broken.body)["error"]["message"], "body: is not JSON");
  const Reply deep = client_->Ask("POST", "/v1/completions", std::string(100000, '['));
  EXPECT_THAT(deep.body, HasSubstr("nested deeper than 64"));
}

TEST_F(CompletionsTest, AClientThatLeavesEndsItsText) {
  Start();
  Client leaving(server_->port());
  // Endless: the end token does not end it.
  const json body = {{"prompt", "a"},  {"max_tokens", 2000000000}, {"temperature", 0},
                     {"stream", true}, {"ignore_eos", true},       {"model", "letters"}};
  const std::string text = body.dump();
  leaving.Send(absl::StrCat("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: ",
                            text.size(), "\r\n\r\n", text));
  EXPECT_EQ(leaving.ReadHead().status, 200);
  EXPECT_THAT(leaving.ReadChunk(), HasSubstr("data: "));
  leaving.Close();
  // Stop waits for the texts under way.
  EXPECT_EQ(TextOf(Completion({{"prompt", "a"}, {"max_tokens", 1}})), "b");
  client_.reset();
  EXPECT_TRUE(server_->Stop(std::chrono::seconds(100)));
}

TEST_F(CompletionsTest, AServerThatEndsEndsItsTexts) {
  Start();
  const json body = {{"prompt", "a"},  {"max_tokens", 2000000000}, {"temperature", 0},
                     {"stream", true}, {"ignore_eos", true},       {"model", "letters"}};
  const std::string text = body.dump();
  client_->Send(absl::StrCat("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: ",
                             text.size(), "\r\n\r\n", text));
  EXPECT_EQ(client_->ReadHead().status, 200);
  server_.reset();  // returns
  text_.reset();
}

}  // namespace
}  // namespace onward::serving
