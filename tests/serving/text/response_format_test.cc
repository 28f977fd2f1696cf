// Texts in a format that was asked for, whatever a model's scores are.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/serving/text_server.h"

namespace onward::serving {
namespace {

using onward::testing::Reply;
using ::testing::HasSubstr;

// The 256 bytes as HF's byte-level alphabet writes them, and pieces of JSON.
std::string JsonTokenizer(int64_t& size) {
  nlohmann::json vocabulary;
  std::vector<std::string> letters(256);
  for (int byte = 0, next = 256; byte < 256; ++byte) {
    const bool plain = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    const int c = plain ? byte : next++;
    letters[static_cast<size_t>(byte)] =
        c < 0x80
            ? std::string(1, static_cast<char>(c))
            : std::string({static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))});
    vocabulary[letters[static_cast<size_t>(byte)]] = byte;
  }
  size = 256;
  for (const char* piece : {"{\"", "\":", "\",Ġ\"", "\"}", "true", "null", "Ġthe", "[[", "]}"})
    vocabulary[piece] = size++;
  vocabulary["<end>"] = size;
  const nlohmann::json end = {{"id", size++},    {"content", "<end>"}, {"single_word", false},
                              {"lstrip", false}, {"rstrip", false},    {"normalized", false},
                              {"special", true}};
  const nlohmann::json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  return nlohmann::json(
             {{"added_tokens", {end}},
              {"pre_tokenizer", level},
              {"decoder", level},
              {"model",
               {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}})
      .dump();
}

class ResponseFormatTest : public TextServerTest {
 protected:
  // Scores that follow no rule: 8 sin(12.9898 (token + 1) (last token + 3)).
  void StartRandom(TextFacts facts = {}) {
    int64_t size = 0;
    auto tokenizer = files::Tokenizer::Parse(JsonTokenizer(size));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    auto model = onward::testing::ModelFromText(
        absl::StrCat("g (int64[n, t] input_ids) => (float[n, t, ", size, "] logits) {",
                     " three = Constant <value_int = 3> () more = Add (input_ids, three)",
                     " last = Constant <value_ints = [-1]> () wide = Unsqueeze (more, last)",
                     " least = Constant <value_int = 1> () most = Constant <value_int = ", size + 1,
                     "> ()", " tokens = Range (least, most, least) product = Mul (wide, tokens)",
                     " real = Cast <to = 1> (product) much = Constant <value_float = 12.9898> ()",
                     " angle = Mul (real, much) wave = Sin (angle)",
                     " eight = Constant <value_float = 8.0> () logits = Mul (wave, eight) }"));
    ASSERT_TRUE(model.ok()) << model.status();
    facts.stop_tokens = {size - 1};
    facts.chat_template =
        files::ChatTemplate::Parse("{% for m in messages %}{{ m.content }}{% endfor %}");
    auto generator = generation::BatchGenerator::Create(*std::move(model), {.num_threads = 1}, {});
    ASSERT_TRUE(generator.ok()) << generator.status();
    text_ =
        std::make_shared<TextModel>(*std::move(tokenizer), std::move(facts), *std::move(generator));
    auto served = ServedModel::Create("letters", std::shared_ptr<Session>(text_, text_->session()),
                                      {.text = text_});
    ASSERT_TRUE(served.ok()) << served.status();
    Serve({*served});
  }
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
