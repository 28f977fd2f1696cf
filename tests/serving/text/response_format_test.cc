// Texts in a format that was asked for, whatever a model's scores are.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/serving/random_text_server.h"

namespace onward::serving {
namespace {

using onward::testing::Reply;
using ::testing::HasSubstr;

class ResponseFormatTest : public RandomTextServerTest {
 protected:
  static json Schema(json schema) {
    return {{"type", "json_schema"},
            {"json_schema", {{"name", "s"}, {"strict", true}, {"schema", std::move(schema)}}}};
  }
  // All values of it are short.
  static json Person() {
    return Schema(json::parse(R"({"type":"object","additionalProperties":false,
        "properties":{"name":{"type":"string","maxLength":8},"age":{"type":"integer","minimum":0,
        "maximum":150},"tags":{"type":"array","items":{"enum":["a","bé"]},"maxItems":3}},
        "required":["name","age"]})"));
  }
  static void ExpectPerson(const std::string& text) {
    const json person = json::parse(text, nullptr, false);
    ASSERT_TRUE(person.is_object()) << text;
    EXPECT_TRUE(person["name"].is_string()) << text;
    EXPECT_TRUE(person["age"].is_number_integer()) << text;
    EXPECT_LE(person["age"], 150) << text;
    EXPECT_LE(person.size(), person.contains("tags") ? 3u : 2u) << text;
  }
};

TEST_F(ResponseFormatTest, SchemasHoldWhateverIsDrawn) {
  StartRandom();
  for (int seed = 0; seed < 40; ++seed) {
    const json reply = Posted("/v1/completions", {{"prompt", absl::StrCat("x", seed)},
                                                  {"max_tokens", 300},
                                                  {"seed", seed},
                                                  {"temperature", seed % 3},
                                                  {"n", 2},
                                                  {"response_format", Person()}});
    for (const json& choice : reply["choices"]) {
      EXPECT_EQ(choice["finish_reason"], "stop");
      ExpectPerson(choice["text"]);
    }
  }
}

TEST_F(ResponseFormatTest, ObjectsOfJsonParseWhereTheyEnd) {
  StartRandom();
  int ended = 0;
  for (int seed = 0; seed < 40; ++seed) {
    const json reply =
        Posted("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "hello"}}}},
                                        {"max_tokens", 400},
                                        {"seed", seed},
                                        {"temperature", 1.5},
                                        {"response_format", {{"type", "json_object"}}}});
    const json& choice = reply["choices"][0];
    const std::string text = choice["message"]["content"];
    if (choice["finish_reason"] == "length") continue;
    ++ended;
    EXPECT_TRUE(json::parse(text, nullptr, false).is_object()) << text;
  }
  std::printf("seeds 0 to 39: %d texts ended\n", ended);
  EXPECT_GT(ended, 5);
}

TEST_F(ResponseFormatTest, StreamsAndGenerateHaveThem) {
  StartRandom();
  const Reply reply = Post("/v1/completions", {{"prompt", "a"},
                                               {"max_tokens", 300},
                                               {"stream", true},
                                               {"seed", 3},
                                               {"response_format", Person()}});
  std::string text;
  const std::vector<std::string> events = Events(reply.body);
  for (size_t i = 0; i + 1 < events.size(); ++i)
    text += json::parse(events[i])["choices"][0]["text"].get<std::string>();
  ExpectPerson(text);
  const json generated = Posted(
      "/v2/models/letters/generate",
      {{"text_input", "a"}, {"parameters", {{"max_tokens", 300}, {"response_format", Person()}}}});
  ExpectPerson(generated["text_output"]);
}

TEST_F(ResponseFormatTest, LengthAndIgnoredEndsAreToldOf) {
  StartRandom();
  json ask = {{"prompt", "a"}, {"max_tokens", 3}, {"response_format", Person()}};
  EXPECT_EQ(Posted("/v1/completions", ask)["choices"][0]["finish_reason"], "length");
  ask["max_tokens"] = 300;
  ask["ignore_eos"] = true;
  const json choice = Posted("/v1/completions", ask)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop");
  ExpectPerson(choice["text"]);
  ask["response_format"] = {{"type", "text"}};
  ask["max_tokens"] = 5;
  EXPECT_EQ(Posted("/v1/completions", ask)["choices"][0]["finish_reason"], "length");
}

TEST_F(ResponseFormatTest, NamesWhatIsWrong) {
  StartRandom();
  const auto error = [this](const json& format) {
    const Reply reply = Post("/v1/completions", {{"prompt", "a"}, {"response_format", format}});
    const json document = json::parse(reply.body);
    return absl::StrCat(reply.status, " ", document["error"]["param"].dump(), " ",
                        document["error"]["message"].get<std::string>());
  };
  EXPECT_EQ(error("json"),
            "400 \"response_format\" response_format: expected a type of text, json_object or "
            "json_schema");
  EXPECT_EQ(error({{"type", "json_schema"}}),
            "400 \"response_format.json_schema\" response_format.json_schema: expected an object "
            "with name and schema");
  EXPECT_EQ(error({{"type", "json_schema"}, {"json_schema", {{"name", "a"}}}}),
            "400 \"response_format.json_schema.schema\" response_format.json_schema.schema: is "
            "missing");
  EXPECT_EQ(error(Schema({{"type", "object"}, {"properties", {{"a", {{"not", {}}}}}}})),
            "400 \"response_format.json_schema.schema.properties.a.not\" "
            "response_format.json_schema.schema.properties.a.not: is not supported");
  EXPECT_THAT(error(Schema({{"type", "string"}, {"enum", {std::string(300000, 'a')}}})),
              HasSubstr("the schema has more than 262144 bytes"));
}

}  // namespace
}  // namespace onward::serving
