// The zoo's decoders give the tokens that they give in ONNX Runtime (make_zoo.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "executors/generation/generate.h"
#include "tests/support/test_data.h"

namespace onward::generation {
namespace {

TEST(ZooGeneration, GreedyTokensAreOnnxRuntimes) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  std::ifstream file(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/executors/generation/zoo.json"));
  const nlohmann::json cases = nlohmann::json::parse(file);
  std::string loaded;
  std::unique_ptr<Decoder> decoder;
  for (const auto& each : cases) {
    if (const std::string model = each["model"]; model != loaded) {
      decoder.reset();
      auto session = Session::Load(absl::StrCat(zoo, "/", model, "/model.onnx"));
      ASSERT_TRUE(session.ok()) << session.status();
      auto made = Decoder::Create(*std::move(session));
      ASSERT_TRUE(made.ok()) << made.status();
      decoder = *std::move(made);
      loaded = model;
    }
    const auto want = each["ids"].get<std::vector<int64_t>>();
    GenerateOptions options;
    options.max_new_tokens = static_cast<int64_t>(want.size());
    const auto made = Generate(*decoder, each["prompt"].get<std::vector<int64_t>>(), options);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->tokens, want) << each;
    const auto found =
        BeamSearch(*decoder, each["prompt"].get<std::vector<int64_t>>(), 3, {}, {.beams = 1});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)[0].tokens, std::vector<int64_t>(want.begin(), want.begin() + 3));
  }
}

}  // namespace
}  // namespace onward::generation
