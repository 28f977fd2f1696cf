// The zoo's decoders give the tokens that they give in ONNX Runtime (make_zoo.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "onward/generation/batch_generator.h"
#include "onward/generation/generate.h"
#include "onward/import.h"
#include "tests/support/test_data.h"

namespace onward::generation {
namespace {

// As the model is, or with caches that are written in place.
std::unique_ptr<Decoder> Load(const std::string& path, bool fixed) {
  absl::StatusOr<std::unique_ptr<Decoder>> made;
  if (fixed) {
    auto model = ImportFile(path);
    EXPECT_TRUE(model.ok()) << model.status();
    made = Decoder::Create(*std::move(model), SessionOptions());
  } else {
    auto session = Session::Load(path);
    EXPECT_TRUE(session.ok()) << session.status();
    made = Decoder::Create(*std::move(session));
  }
  EXPECT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)->signature().past_length.has_value(), fixed);
  return *std::move(made);
}

class ZooGenerationTest : public ::testing::TestWithParam<bool> {};

TEST_P(ZooGenerationTest, GreedyTokensAreOnnxRuntimes) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  std::ifstream file(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/generation/zoo.json"));
  const nlohmann::json cases = nlohmann::json::parse(file);
  std::string loaded;
  std::unique_ptr<Decoder> decoder;
  for (const auto& each : cases) {
    if (const std::string model = each["model"]; model != loaded) {
      decoder.reset();
      decoder = Load(absl::StrCat(zoo, "/", model, "/model.onnx"), GetParam());
      loaded = model;
    }
    const auto prompt = each["prompt"].get<std::vector<int64_t>>();
    const auto want = each["ids"].get<std::vector<int64_t>>();
    GenerateOptions options;
    options.max_new_tokens = static_cast<int64_t>(want.size());
    const auto made = Generate(*decoder, prompt, options);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->tokens, want) << each;
    const auto found = BeamSearch(*decoder, prompt, 3, {}, {.beams = 1});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)[0].tokens, std::vector<int64_t>(want.begin(), want.begin() + 3));
  }
}

TEST(ZooGeneration, TextsOfABatchAreOnnxRuntimes) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  auto model = ImportFile(absl::StrCat(zoo, "/gpt2_decode/model.onnx"));
  ASSERT_TRUE(model.ok()) << model.status();
  auto generator = BatchGenerator::Create(*std::move(model), SessionOptions(), {.rows = 3});
  ASSERT_TRUE(generator.ok()) << generator.status();
  std::ifstream file(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/generation/zoo.json"));
  const nlohmann::json cases = nlohmann::json::parse(file);
  std::vector<std::pair<std::vector<int64_t>, std::unique_ptr<std::vector<int64_t>>>> texts;
  for (const auto& each : cases) {
    if (each["model"] != "gpt2_decode") continue;
    texts.emplace_back(each["ids"].get<std::vector<int64_t>>(),
                       std::make_unique<std::vector<int64_t>>());
    TextRequest request;
    request.prompt = each["prompt"].get<std::vector<int64_t>>();
    request.options.max_new_tokens = static_cast<int64_t>(texts.back().first.size());
    request.on_token = [made = texts.back().second.get()](const TextToken& token) {
      made->push_back(token.id);
      return true;
    };
    ASSERT_TRUE((*generator)->Add(std::move(request)).ok());
  }
  ASSERT_GT(texts.size(), 1u);
  while ((*generator)->Step()) {
  }
  for (const auto& [want, made] : texts) EXPECT_EQ(*made, want);
}

INSTANTIATE_TEST_SUITE_P(Caches, ZooGenerationTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Fixed" : "Growing"; });

}  // namespace
}  // namespace onward::generation
