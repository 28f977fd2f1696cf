// Whatever the scores, texts are instances of their schemas: the package jsonschema of Python says
// so. ONWARD_SCHEMAS=N and ONWARD_SEED=N take others.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "generation/grammar/json_schema.h"
#include "tests/generation/grammar/drawn_text.h"
#include "tests/support/command_output.h"

namespace onward::generation {
namespace {

using nlohmann::ordered_json;

// Tokenizers have few texts or many, and bytes in any order.
std::shared_ptr<const TokenOrder> Vocabulary(std::mt19937_64& random) {
  std::vector<std::string> tokens = ByteTokens();
  const std::string bytes = "{}[]\",: 0123456789abcn\\u.-e";
  const size_t more = random() % 300;
  for (size_t i = 0; i < more; ++i) {
    std::string token;
    for (size_t j = 0; j < 2 + random() % 4; ++j) token += bytes[random() % bytes.size()];
    tokens.push_back(token);
  }
  return std::make_shared<TokenOrder>(tokens, std::vector<int64_t>());
}

TEST(RandomSchemas, TextsAreInstances) {
  const std::string seed = testing::Setting("ONWARD_SEED", "1"),
                    count = testing::Setting("ONWARD_SCHEMAS", "150");
  const std::string script =
      absl::StrCat("python3 ", ONWARD_SOURCE_DIR, "/tests/generation/grammar/json_schemas.py ");
  const testing::CommandOutput drawn =
      testing::OutputOf(absl::StrCat(script, "draw ", seed, " ", count));
  ASSERT_EQ(drawn.exit_code, 0);
  const std::string& schemas = drawn.text;
  const std::string path = ::testing::TempDir() + "/random_schemas.jsonl";
  std::ofstream file(path);
  int texts = 0, endless = 0, empty = 0;
  std::mt19937_64 random(std::stoull(seed));
  for (size_t at = 0, end; (end = schemas.find('\n', at)) != schemas.npos; at = end + 1) {
    const ordered_json schema = ordered_json::parse(schemas.substr(at, end - at));
    const auto vocabulary = Vocabulary(random);
    auto grammar = JsonSchemaGrammar(schema, *vocabulary, "schema");
    if (!grammar.ok() && grammar.status().message().find("no value") != absl::string_view::npos) {
      ++empty;
      continue;
    }
    ASSERT_TRUE(grammar.ok()) << grammar.status() << "\n" << schema;
    const auto masks = std::make_shared<GrammarMasks>(*std::move(grammar), vocabulary);
    for (int i = 0; i < 4; ++i) {
      const auto text = DrawnText(masks, random());
      if (text) file << ordered_json({{"schema", schema}, {"text", *text}}).dump() << "\n";
      ++(text ? texts : endless);
    }
  }
  file.close();
  std::printf("seed %s: %d texts; %d did not end, %d schemas of no value\n", seed.c_str(), texts,
              endless, empty);
  EXPECT_GT(texts, 10 * endless);
  const testing::CommandOutput checked = testing::OutputOf(absl::StrCat(script, "check ", path));
  if (checked.exit_code == 77) GTEST_SKIP() << "python3-jsonschema is not here";
  EXPECT_EQ(checked.exit_code, 0) << checked.text;
}

}  // namespace
}  // namespace onward::generation
