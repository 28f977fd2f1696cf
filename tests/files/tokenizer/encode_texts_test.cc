// Texts and pairs of bounded length. HF's library is the truth: make_pairs.py wrote pairs.json.
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/tokenizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

constexpr char kFolder[] = ONWARD_SOURCE_DIR "/tests/files/tokenizer/";

Tokenizer TokenizerNamed(const std::string& name, std::string_view config = "") {
  std::ifstream file(absl::StrCat(kFolder, "cases/", name, ".json"));
  const auto document = nlohmann::json::parse(file);
  auto made = Tokenizer::Parse(document["tokenizer"].dump(), config);
  EXPECT_TRUE(made.ok()) << name << ": " << made.status();
  return *std::move(made);
}

TEST(EncodeTextsTest, AsTheLibrary) {
  std::ifstream file(absl::StrCat(kFolder, "pairs.json"));
  const auto document = nlohmann::json::parse(file);
  int rows = 0;
  for (const auto& [name, cases] : document.items()) {
    const Tokenizer tokenizer = TokenizerNamed(name);
    for (const auto& row : cases) {
      const auto first = row[0].get<std::string>();
      const auto second = row[1].is_null() ? "" : row[1].get<std::string>();
      const size_t most = row[2].is_null() ? 100000 : row[2].get<size_t>();
      const auto made = tokenizer.EncodeUpTo(
          most, first, row[1].is_null() ? std::nullopt : std::optional<std::string_view>(second),
          row[3].get<bool>());
      ASSERT_TRUE(made.ok()) << name << " " << row << ": " << made.status();
      EXPECT_EQ(made->ids, row[4].get<Ids>()) << name << " " << row;
      EXPECT_EQ(made->types, row[5].get<Ids>()) << name << " " << row;
      ++rows;
    }
  }
  EXPECT_GT(rows, 500);
}

TEST(EncodeTextsTest, SpecialTokensMustFit) {
  const auto made = TokenizerNamed("bert").EncodeUpTo(2, "a", "b", true);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(made.status().message(), HasSubstr("3 special tokens"));
  EXPECT_THAT(TokenizerNamed("bert").EncodeUpTo(2, "a", std::nullopt, true)->ids,
              ElementsAre(2, 3));
}

TEST(EncodeTextsTest, CompletionsFollowTheirPrompts) {
  const Tokenizer gpt2 = TokenizerNamed("gpt2", R"({"eos_token": "<|endoftext|>"})");
  const auto made = gpt2.EncodeCompletion("hear me", " speak", true);
  ASSERT_TRUE(made.ok()) << made.status();
  Ids expected = *gpt2.Encode("hear me", false);
  EXPECT_EQ(made->prompt_tokens, expected.size());
  const Ids completion = *gpt2.Encode(" speak", false);
  expected.insert(expected.end(), completion.begin(), completion.end());
  expected.push_back(*gpt2.IdOf("<|endoftext|>"));
  EXPECT_EQ(made->ids, expected);
  // A token before the text is one of the prompt.
  const auto llama = TokenizerNamed("llama3").EncodeCompletion("", "hear", true);
  ASSERT_TRUE(llama.ok()) << llama.status();
  EXPECT_EQ(llama->prompt_tokens, 1u);
  EXPECT_EQ(llama->ids, *TokenizerNamed("llama3").Encode("hear", true));
  EXPECT_EQ(TokenizerNamed("llama3").EncodeCompletion("", "hear", false)->ids,
            *TokenizerNamed("llama3").Encode("hear", false));
  const auto bert = TokenizerNamed("bert").EncodeCompletion("a", "b", true);
  EXPECT_EQ(bert.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(bert.status().message(), HasSubstr("behind texts"));
}

TEST(EncodeTextsTest, ReadsThePadToken) {
  EXPECT_EQ(TokenizerNamed("bert", R"({"pad_token": "[PAD]"})").pad(),
            TokenizerNamed("bert").IdOf("[PAD]"));
  EXPECT_EQ(TokenizerNamed("bert", R"({"pad_token": "not there"})").pad(), std::nullopt);
  EXPECT_EQ(TokenizerNamed("bert", R"({"pad_token": null})").pad(), std::nullopt);
}

}  // namespace
}  // namespace onward::files
