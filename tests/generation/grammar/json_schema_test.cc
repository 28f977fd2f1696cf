#include "generation/grammar/json_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/generation/grammar/drawn_text.h"

namespace onward::generation {
namespace {

using nlohmann::ordered_json;

std::shared_ptr<const TokenOrder> Bytes() {
  static const auto bytes =
      std::make_shared<const TokenOrder>(ByteTokens(), std::vector<int64_t>());
  return bytes;
}

std::shared_ptr<GrammarMasks> Masks(const std::string& schema) {
  auto grammar = JsonSchemaGrammar(ordered_json::parse(schema), *Bytes(), "s");
  EXPECT_TRUE(grammar.ok()) << grammar.status() << " " << schema;
  if (!grammar.ok()) return nullptr;
  return std::make_shared<GrammarMasks>(*std::move(grammar), Bytes());
}

bool Takes(const std::shared_ptr<GrammarMasks>& masks, const std::string& text) {
  GrammarPlace place(masks);
  return place.Take(text) && place.MayEnd();
}

struct Row {
  const char* schema;
  std::vector<std::string> good, bad;
};

TEST(JsonSchema, TakesInstancesAndNothingElse) {
  const std::vector<Row> rows = {
      {R"({"type":"integer"})", {"0", "-12", "7"}, {"01", "1.0", "\"1\"", "", "-"}},
      {R"({"type":"integer","minimum":-12,"maximum":105})",
       {"-12", "-9", "0", "9", "99", "105", "100"},
       {"-13", "106", "200", "1000", "-20", "-105"}},
      {R"({"type":"number","minimum":0,"exclusiveMaximum":1})",
       {"0", "0.5", "0.999", "0.0"},
       {"1", "1.0", "-0.5", "1.5", "5e-1"}},
      {R"({"type":"number","exclusiveMinimum":-2,"maximum":2})",
       {"-1.99", "-1", "0", "2", "2.0", "1.9", "-0"},
       {"-2", "-2.0", "2.1", "3"}},
      {R"({"type":"number"})", {"1", "-1.5", "1e5", "2.5E-3"}, {".5", "1.", "1e", "+1", "NaN"}},
      {R"({"type":"string","minLength":1,"maxLength":2})",
       {"\"a\"", "\"é天\"", "\"\\n\\u00e9\"", "\"\\ud83d\\ude00\""},
       {"\"\"", "\"abc\"", "\"\\ud83d\"", "\"\n\"", "\"\\x\"", "\"\xE5\xA4\""}},
      {R"({"enum":["a","ab",1,null,[1,"x"]]})",
       {"\"a\"", "\"ab\"", "1", "null", "[1,\"x\"]"},
       {"\"b\"", "2", "[1]", "\"abc\""}},
      {R"({"const":"é\"\n"})", {"\"é\\\"\\n\""}, {"\"e\""}},
      {R"({"type":["integer","null"]})", {"5", "null"}, {"\"5\"", "true"}},
      {R"({"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":2})",
       {"[true]", "[ true , false ]", "[\n  true\n]"},
       {"[]", "[true,true,true]", "[1]", "[true,]"}},
      {R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
       {"[1,\"a\"]"},
       {"[1,\"a\",2]", "[\"a\",1]"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
           "required":["b"]})",
       {"{\"a\":1,\"b\":2}", "{\"b\":2}", "{ \"b\" : 2 }"},
       {"{}", "{\"a\":1}", "{\"b\":2,\"a\":1}", "{\"b\":2,\"c\":1}", "{\"b\":2,}", "{,\"b\":2}"}},
      {R"({"properties":{"ab":{"const":1}},"additionalProperties":{"const":2}})",
       {"{}", "{\"ab\":1}", "{\"a\":2}", "{\"ab\":1,\"abc\":2,\"b\":2}", "{\"é\":2}"},
       {"{\"ab\":2}", "{\"a\":1}", "{\"\\u0061b\":2}", "{\"a\":2,\"ab\":2}"}},
      {R"({"type":"object","maxProperties":1})", {"{}", "{\"a\":[]}"}, {"{\"a\":1,\"b\":1}", "[]"}},
      {R"({"type":"object","minProperties":1})", {"{\"a\":{}}"}, {"{}"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#"}}]})",
       {"1", "[]", "[[1],[[2]]]"},
       {"\"a\"", "[\"a\"]"}},
      {R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"null"}}})", {"null"}, {"1"}},
      {R"({"allOf":[{"type":"null"}]})", {"null"}, {"1"}},
      {R"({"oneOf":[{"type":"string"},{"type":"integer"}]})", {"1", "\"a\""}, {"1.5"}},
      {R"({"type":"string","pattern":"^[a-c]+\\d{2}$"})", {"\"abc12\""}, {"\"12\"", "\"abc1\""}},
      {R"({"type":"string","pattern":"b|^c$"})", {"\"abc\"", "\"c\""}, {"\"a\"", "\"cc\""}},
      {R"({"type":"string","pattern":"^[^a-y]\\\\$"})", {"\"z\\\\\"", "\"é\\\\\""}, {"\"a\\\\\""}},
      {R"({"type":"string","format":"date"})", {"\"2024-02-28\""}, {"\"2024-02-30\"", "\"1\""}},
      {R"({"type":"string","format":"uuid"})",
       {"\"01234567-89ab-cdef-0123-456789abcdef\""},
       {"\"01234567\""}},
      {R"(true)", {"{\"a\":[1,{}]}", "\"x\"", " null"}, {"nul", "[1"}},
  };
  for (const Row& row : rows) {
    const auto masks = Masks(row.schema);
    if (masks == nullptr) continue;
    for (const std::string& text : row.good) EXPECT_TRUE(Takes(masks, text)) << row.schema << text;
    for (const std::string& text : row.bad) EXPECT_FALSE(Takes(masks, text)) << row.schema << text;
  }
}

TEST(JsonSchema, NamesWhatIsNotDone) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {R"({"type":"object","properties":{"a":{"type":"string","not":{}}}})",
       "s.properties.a.not: is not supported"},
      {R"({"properties":{"a":{"patternProperties":{}}}})",
       "s.properties.a.patternProperties: is not supported"},
      {R"({"type":"strin"})",
       "s.type: expected null, boolean, object, array, string, number, integer, or an array of "
       "these"},
      {R"s({"type":"string","pattern":"(?=a)"})s", "s.pattern: '(?=' is not supported"},
      {R"({"type":"string","pattern":"a","maxLength":3})",
       "s.pattern: is not supported beside minLength and maxLength"},
      {R"({"type":"string","pattern":"(a*)*"})",
       "s.pattern: repeating what may be empty is not supported"},
      {R"({"type":"string","format":"idn-email"})", "s.format: 'idn-email' is not supported"},
      {R"({"$ref":"http://example.com/s"})",
       "s.$ref: only references within the schema ('#/...') are supported"},
      {R"({"$ref":"#/$defs/no"})", "s.$ref: leads to nothing"},
      {R"({"type":"array","uniqueItems":true})", "s.uniqueItems: true is not supported"},
      {R"({"type":"array","minItems":3,"maxItems":2})", "s.maxItems: is less than minItems"},
      {R"({"type":"integer","multipleOf":3})", "s.multipleOf: is not supported"},
      {R"({"type":"number","minimum":0.5})",
       "s.minimum: a bound that is not a whole number is not supported"},
      {R"({"type":"integer","minimum":5,"maximum":4})", "s: no number is within its bounds"},
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})",
       "s.oneOf: schemas 0 and 1 may take the same value, which is not supported; use anyOf"},
      {R"({"oneOf":[{"minimum":3},{"const":"a"}]})",
       "s.oneOf: schemas 0 and 1 may take the same value, which is not supported; use anyOf"},
      {R"({"allOf":[{},{}]})", "s.allOf: more than one schema is not supported"},
      {R"({"anyOf":[{}],"type":"object"})", "s.type: is not supported beside anyOf"},
      {R"({"required":["a"],"properties":{},"additionalProperties":false})",
       "s.required: 'a' is not a property, and additionalProperties is false"},
      {R"({"$ref":"#"})",
       "s: no value that the model's tokens can write is an instance of the schema"},
      {R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})",
       "s: no value that the model's tokens can write is an instance of the schema"},
      {"false", "s: no value that the model's tokens can write is an instance of the schema"},
      {"3", "s: expected a schema, which is an object"},
      {R"({"type":"array","items":[{}]})", "s.items: an array is not supported; use prefixItems"},
  };
  for (const auto& [schema, message] : rows) {
    const auto grammar = JsonSchemaGrammar(ordered_json::parse(schema), *Bytes(), "s");
    ASSERT_FALSE(grammar.ok()) << schema;
    EXPECT_EQ(std::string(grammar.status().message()), message) << schema;
  }
}

// Each bit says what reading the token's bytes says.
TEST(GrammarMasks, AreWhatReadingTheTokensSays) {
  std::mt19937_64 random(7);
  for (const char* schema :
       {R"({"type":"object","properties":{"name":{"type":"string","maxLength":3},"cat":true}})",
        R"({"type":"array","items":{"enum":["x","xx","xxx",12,0.5]},"maxItems":4})", "true"}) {
    const auto masks = Masks(schema);
    GrammarPlace place(masks);
    for (int step = 0; step < 60; ++step) {
      const auto mask = place.Allowed();
      std::vector<int64_t> may;
      for (int64_t id = 0; id < Bytes()->size(); ++id) {
        GrammarPlace copy = place;
        const bool takes = copy.Take(Bytes()->bytes_of(id));
        const auto at = static_cast<size_t>(id);
        EXPECT_EQ(((*mask)[at / 64] >> at % 64 & 1) != 0, takes) << schema << " step " << step;
        if (takes) may.push_back(id);
      }
      if (may.empty()) break;
      place.Take(Bytes()->bytes_of(may[random() % may.size()]));
    }
  }
}

TEST(JsonObject, IsAnObjectWhateverTheScores) {
  auto grammar = JsonObjectGrammar(*Bytes());
  ASSERT_TRUE(grammar.ok());
  const auto masks = std::make_shared<GrammarMasks>(*std::move(grammar), Bytes());
  int ended = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const auto text = DrawnText(masks, seed);
    if (!text) continue;
    ++ended;
    EXPECT_TRUE(ordered_json::parse(*text, nullptr, false).is_object()) << *text;
  }
  EXPECT_GT(ended, 50);
}

TEST(JsonObject, EndsAlsoWhereScoresWantDepth) {
  auto grammar = JsonObjectGrammar(*Bytes());
  ASSERT_TRUE(grammar.ok());
  const auto masks = std::make_shared<GrammarMasks>(*std::move(grammar), Bytes());
  GrammarConstraint constraint(masks, {});
  std::string text;
  for (int step = 0; step < 4000 && !constraint.Ends(); ++step) {
    std::vector<float> scores(static_cast<size_t>(Bytes()->size()), NAN);
    scores['['] = 5;
    scores['}'] = scores[']'] = 4;
    scores['"'] = 3;
    scores[':'] = INFINITY;
    constraint.Mask(absl::MakeSpan(scores));
    ASSERT_TRUE(constraint.status().ok());
    const int64_t token = Best(scores);
    constraint.Take(token);
    text += Bytes()->bytes_of(token);
  }
  EXPECT_TRUE(constraint.Ends()) << text;
  EXPECT_TRUE(ordered_json::parse(text, nullptr, false).is_object()) << text;
}

// A vocabulary of whole characters and few of them: what it lacks is escaped or does not come.
TEST(GrammarConstraint, WritesWithTheTokensThatThereAre) {
  std::vector<std::string> tokens = {"{", "}", "\"", ":", "k", "天", "\\", "u"};
  for (const char c : std::string("0123456789abcdef")) tokens.emplace_back(1, c);
  const auto order = std::make_shared<const TokenOrder>(tokens, std::vector<int64_t>());
  const auto schema = ordered_json::parse(
      R"({"properties":{"k天é":{"type":"string","maxLength":3}},"required":["k天é"]})");
  auto grammar = JsonSchemaGrammar(schema, *order, "s");
  ASSERT_TRUE(grammar.ok()) << grammar.status();
  const auto masks = std::make_shared<GrammarMasks>(*std::move(grammar), order);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    GrammarConstraint constraint(masks, {});
    std::mt19937_64 random(seed);
    std::string text;
    while (!constraint.Ends()) {
      std::vector<float> scores(tokens.size() + 5);
      for (float& each : scores) each = static_cast<float>(random() % 1000);
      constraint.Mask(absl::MakeSpan(scores));
      ASSERT_TRUE(constraint.status().ok()) << text;
      const int64_t token = Best(scores);
      constraint.Take(token);
      text += order->bytes_of(token);
    }
    const auto value = ordered_json::parse(text, nullptr, false);
    ASSERT_TRUE(value.contains("k天é")) << text;
  }
  const std::vector<std::string> few = {"{", "}"};
  EXPECT_FALSE(JsonSchemaGrammar(schema, TokenOrder(few, {}), "s").ok());
}

TEST(SchemaSequence, TakesInstancesBetweenItsTexts) {
  const auto of = [](const char* schema) { return ordered_json::parse(schema); };
  SchemaSequence sequence = {
      .begin = "<",
      .items = {{"a:", of(R"({"$ref":"#/$defs/x","$defs":{"x":{"const":1}}})"), "s", "!"},
                {"b:", of(R"({"type":"boolean"})"), "s", ""}},
      .separator = ",",
      .end = ">",
      .most = 2};
  const auto masks = [&] {
    auto grammar = SchemaSequenceGrammar(sequence, *Bytes());
    EXPECT_TRUE(grammar.ok()) << grammar.status();
    return std::make_shared<GrammarMasks>(*std::move(grammar), Bytes());
  };
  for (const char* good : {"<a:1!>", "<b:true>", "<a:1!,b:false>", "<b:true,b:true>"})
    EXPECT_TRUE(Takes(masks(), good)) << good;
  for (const char* bad : {"", "<>", "<a:1>", "<b:1>", "<a:1!,>", "<b:true,b:true,b:true>", "a:1!"})
    EXPECT_FALSE(Takes(masks(), bad)) << bad;
  sequence.most = kNoLimit;
  EXPECT_TRUE(Takes(masks(), "<b:true,b:true,b:true,a:1!>"));
  sequence.most = 1;
  EXPECT_FALSE(Takes(masks(), "<b:true,b:true>"));
}

TEST(SchemaSequence, NamesTheItemThatIsWrong) {
  const SchemaSequence sequence = {
      .items = {{"", true, "first", ""}, {"", {{"type", "text"}}, "second", ""}}};
  const auto grammar = SchemaSequenceGrammar(sequence, *Bytes());
  EXPECT_EQ(std::string(grammar.status().message()).substr(0, 12), "second.type:");
}

// A schema of many ways at once, which would take long to look at all.
TEST(JsonSchema, AmbiguousOnesStayCheap) {
  ordered_json branch = {{"type", "array"}, {"items", {{"$ref", "#"}}}};
  ordered_json schema = {{"anyOf", ordered_json::array()}};
  for (int i = 0; i < 40; ++i) schema["anyOf"].push_back(branch);
  schema["anyOf"].push_back({{"type", "integer"}});
  const auto masks = Masks(schema.dump());
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const auto text = DrawnText(masks, seed);
    if (!text) continue;
    EXPECT_FALSE(ordered_json::parse(*text, nullptr, false).is_discarded()) << *text;
  }
}

}  // namespace
}  // namespace onward::generation
