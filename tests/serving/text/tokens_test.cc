// Tokens of texts, embeddings, Triton's generate and the list of models, over sockets.
#include <cmath>
#include <cstring>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serving/text_server.h"

namespace onward::serving {
namespace {

using onward::testing::ModelFromText;
using onward::testing::Reply;
using ::testing::HasSubstr;

using TokensTest = TextServerTest;

TEST_F(TokensTest, TokenizeAndDetokenize) {
  Start({.context = 99});
  EXPECT_EQ(Posted("/tokenize", {{"model", "letters"}, {"prompt", "abé"}}),
            json::parse(R"({"count":4,"tokens":[1,2,27,28],"max_model_len":99})"));
  EXPECT_EQ(Posted("/detokenize", {{"model", "letters"}, {"tokens", {1, 2, 27, 28}}}),
            json::parse(R"({"prompt":"abé"})"));
  const Reply reply = Post("/detokenize", {{"model", "letters"}, {"tokens", {1, 32}}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body, R"({"error":"tokens: expected numbers of the model's tokens"})");
}

TEST_F(TokensTest, Generate) {
  Start();
  const std::string path = "/v2/models/letters/generate";
  EXPECT_EQ(Posted(path, {{"id", "7"},
                          {"text_input", "x"},
                          {"parameters", {{"temperature", 0}, {"max_tokens", 2}}}}),
            json::parse(R"({"id":"7","model_name":"letters","model_version":"1",
                            "text_output":"yz"})"));
  const json details =
      Posted(path, {{"text_input", "x"}, {"temperature", 0}, {"max_tokens", 1}, {"details", true}});
  EXPECT_EQ(details["details"]["finish_reason"], "length");
  EXPECT_EQ(details["details"]["logprobs"][0]["id"], 25);
  const Reply stream =
      Post(path + "_stream", {{"text_input", "w"}, {"parameters", {{"temperature", 0}}}});
  std::string text;
  for (const std::string& event : Events(stream.body))
    text += json::parse(event)["text_output"].get<std::string>();
  EXPECT_EQ(text, "xyzé.!?");
  const Reply refused = Post(path + "_stream", {{"text", "w"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body, R"({"error":"text_input: expected a string"})");
}

TEST_F(TokensTest, AModelThatGeneratesMakesNoEmbeddings) {
  Start();
  const Reply reply = Post("/v1/embeddings", {{"model", "letters"}, {"input", "a"}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("it generates text and makes no embeddings"));
}

TEST_F(TokensTest, ModelsAreListed) {
  Start({.context = 5});
  const Reply reply = client_->Ask("GET", "/v1/models");
  EXPECT_EQ(json::parse(reply.body)["data"][0]["id"], "letters");
  EXPECT_EQ(json::parse(reply.body)["data"][0]["max_model_len"], 5);
  EXPECT_EQ(json::parse(client_->Ask("GET", "/v1/models/letters").body)["object"], "model");
  const Reply unknown = client_->Ask("GET", "/v1/models/letter");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(json::parse(unknown.body)["error"]["code"], "model_not_found");
}

class EmbeddingsTest : public TextServerTest {
 protected:
  // Each token's vector is (token, 1) where it is, (100, 100) where the mask is 0.
  void StartEncoder(TextFacts facts = {}) {
    auto model = ModelFromText(
        "g (int64[n, t] input_ids, int64[n, t] attention_mask) =>"
        " (float[n, t, 2] last_hidden_state) {"
        " axes = Constant <value_ints = [2]> () hundred = Constant <value_float = 100.0> ()"
        " ids = Cast <to = 1> (input_ids) mask = Cast <to = 1> (attention_mask)"
        " there = Cast <to = 9> (mask) first = Where (there, ids, hundred)"
        " one = Where (there, mask, hundred)"
        " a = Unsqueeze (first, axes) b = Unsqueeze (one, axes)"
        " last_hidden_state = Concat <axis = 2> (a, b) }");
    ASSERT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
    ASSERT_TRUE(session.ok()) << session.status();
    text_ = std::make_shared<TextModel>(LettersTokenizer(), std::move(facts), nullptr);
    auto served = ServedModel::Create("vectors", *std::move(session), {.text = text_});
    ASSERT_TRUE(served.ok()) << served.status();
    Serve({*served});
  }
};

void ExpectDirection(const nlohmann::json& vector, double x, double y) {
  ASSERT_EQ(vector.size(), 2u);
  EXPECT_NEAR(vector[0], x / std::hypot(x, y), 1e-6);
  EXPECT_NEAR(vector[1], y / std::hypot(x, y), 1e-6);
}

TEST_F(EmbeddingsTest, AreMeansOfTheTokensThatAreThere) {
  StartEncoder();
  const json reply = Posted("/v1/embeddings", {{"model", "vectors"}, {"input", {"a", "bcd"}}});
  EXPECT_EQ(reply["object"], "list");
  ExpectDirection(reply["data"][0]["embedding"], 1, 1);
  ExpectDirection(reply["data"][1]["embedding"], 3, 1);
  EXPECT_EQ(reply["usage"], json::parse(R"({"prompt_tokens":4,"total_tokens":4})"));
}

TEST_F(EmbeddingsTest, TakeTokensAndGiveBase64) {
  StartEncoder({.pooling = Pooling::kFirst});
  const json reply = Posted(
      "/v1/embeddings", {{"model", "vectors"}, {"input", {4, 9}}, {"encoding_format", "base64"}});
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(reply["data"][0]["embedding"].get<std::string>(), &bytes));
  ASSERT_EQ(bytes.size(), 8u);
  float first;
  std::memcpy(&first, bytes.data(), 4);
  EXPECT_NEAR(first, 4 / std::hypot(4, 1), 1e-6);
}

TEST_F(EmbeddingsTest, NameWhatIsWrong) {
  StartEncoder({.context = 3});
  const auto error = [this](const json& body) {
    return json::parse(Post("/v1/embeddings", body).body)["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(error(json::object()), "input: is missing");
  EXPECT_EQ(error({{"input", ""}}), "input: expected texts that are not empty, or tokens");
  EXPECT_EQ(error({{"input", {99}}}), "input: expected strings, or numbers of the model's tokens");
  EXPECT_EQ(error({{"input", "abcd"}}), "input: a text has 4 tokens, the model takes 3");
  EXPECT_EQ(error({{"input", "a"}, {"dimensions", 3}}), "dimensions: cannot be chosen here");
  const Reply reply = Post("/v1/completions", {{"prompt", "a"}});
  EXPECT_THAT(reply.body, HasSubstr("it does not generate text; /v1/embeddings takes it"));
}

}  // namespace
}  // namespace onward::serving
