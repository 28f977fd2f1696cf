// The programs of SentencePiece are the truth: make_sentencepiece.py made small models and wrote
// what they encode and decode. ONWARD_SENTENCEPIECE_CASES=DIRECTORY takes others of the script.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/tokenizer.h"
#include "files/utf8.h"

namespace onward::files {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;

std::string BytesOf(const std::string& name) {
  const char* other = std::getenv("ONWARD_SENTENCEPIECE_CASES");
  const fs::path folder = other != nullptr
                              ? fs::path(other)
                              : fs::path(ONWARD_SOURCE_DIR) / "tests/files/tokenizer/sentencepiece";
  std::ifstream file(folder / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SentencePieceTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto made = Tokenizer::ParseSentencePiece(BytesOf(absl::StrCat(GetParam(), ".model")));
    ASSERT_TRUE(made.ok()) << made.status();
    tokenizer_.emplace(*std::move(made));
    rows_ = nlohmann::json::parse(BytesOf(absl::StrCat(GetParam(), ".json")));
    ASSERT_GT(rows_.size(), 20u);
  }

  // Special pieces that a text spells are found in it, which the programs do not do.
  bool SpellsSpecial(const std::string& text) const {
    for (const char* special : {"<s>", "</s>", "<unk>", "<mask>", "<pad>"})
      if (text.find(special) != text.npos) return true;
    return false;
  }
  bool HasUnknown(const Ids& ids) const {
    const int64_t unknown = *tokenizer_->IdOf("<unk>");
    return std::find(ids.begin(), ids.end(), unknown) != ids.end();
  }

  std::optional<Tokenizer> tokenizer_;
  nlohmann::json rows_;
};

TEST_P(SentencePieceTest, Encodes) {
  for (const auto& row : rows_) {
    if (row[0].is_null() || SpellsSpecial(row[0])) continue;
    const auto ids = tokenizer_->Encode(row[0].get<std::string>(), /*add_special=*/false);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, row[1].get<Ids>()) << row[0];
  }
}

// The unknown piece is a special token here, which is left out. Bytes that are not characters, and
// two spaces at the beginning, become what HF's library has for them.
TEST_P(SentencePieceTest, DecodesAndStreams) {
  int compared = 0;
  for (const auto& row : rows_) {
    const auto ids = row[1].get<Ids>();
    const auto expected = row[2].get<std::string>();
    if (HasUnknown(ids) || expected.find("\xef\xbf\xbd") != expected.npos) continue;
    const std::string given = row[0].is_string() ? row[0].get<std::string>() : "";
    const size_t begin = given.find_first_not_of(' ');
    if (begin != given.npos && given.compare(begin, 3, "\u2581") == 0) continue;
    const auto text = tokenizer_->Decode(ids, /*skip_special=*/true);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(*text, expected) << row;
    ++compared;
    TextStream stream(*tokenizer_, true);
    std::string streamed;
    for (const int64_t id : ids) streamed += stream.Push(id).value_or("an error");
    EXPECT_EQ(streamed + stream.Finish().value_or("an error"), *text) << row;
  }
  EXPECT_GT(compared, 10);
}

TEST_P(SentencePieceTest, BytesAddUp) {
  const auto bytes = tokenizer_->Bytes();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto ids = tokenizer_->Encode("the theatre of words", false);
  std::string text;
  for (const int64_t id : *ids) text += bytes->bytes[static_cast<size_t>(id)];
  EXPECT_EQ(text.substr(text[0] == ' '), "the theatre of words");
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceTest,
                         ::testing::Values("bpe_bytes", "unigram", "symbols", "letters"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SentencePieces, TheConfigurationAddsTokens) {
  const std::string model = BytesOf("bpe_bytes.model");
  const auto made = Tokenizer::ParseSentencePiece(model, R"({"add_eos_token":true,
      "eos_token":"<|im_end|>","added_tokens_decoder":{"500":{"content":"<|im_end|>","lstrip":false,
      "normalized":false,"rstrip":false,"single_word":false,"special":true}}})");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->bos(), 1);
  EXPECT_EQ(made->eos(), 500);
  EXPECT_EQ(made->size(), 501);
  const auto ids = made->Encode("a<|im_end|></s>", true);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->front(), 1);
  EXPECT_EQ((Ids{ids->end() - 3, ids->end()}), (Ids{500, 2, 500}));
  EXPECT_EQ(*made->Decode(*ids, true), "a");
  EXPECT_EQ(made->IdOf("</s>"), 2);
  // As transformers' Llama: each text of a pair has its tokens around it.
  const auto pair = made->EncodeUpTo(100, "a", "a", true);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Ids one = *made->Encode("a", true), twice = one, types(one.size(), 0);
  twice.insert(twice.end(), one.begin(), one.end());
  types.resize(twice.size(), 1);
  EXPECT_EQ(pair->ids, twice);
  EXPECT_EQ(pair->types, types);
}

TEST(SentencePieces, BadFilesAreErrors) {
  const std::string model = BytesOf("unigram.model");
  const auto whole = Tokenizer::ParseSentencePiece(model);
  for (const std::string& bytes : {std::string(), std::string("{}"), model.substr(0, 1000)}) {
    const auto made = Tokenizer::ParseSentencePiece(bytes);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(made.status().message().substr(0, 14), "cannot be read") << made.status();
  }
  EXPECT_FALSE(Tokenizer::ParseSentencePiece(model, "{").ok());
  EXPECT_FALSE(Tokenizer::ParseSentencePiece(model, R"({"added_tokens_decoder":{"x":1}})").ok());
  EXPECT_FALSE(Tokenizer::ParseSentencePiece(model, R"({"eos_token":"no such"})").ok());
}

TEST(SentencePieces, IsReadFromADirectory) {
  const fs::path folder = fs::path(::testing::TempDir()) / "sentence_pieces";
  fs::create_directories(folder);
  const std::string model = BytesOf("symbols.model");
  std::ofstream(folder / "tokenizer.model", std::ios::binary) << model;
  EXPECT_TRUE(Tokenizer::IsInDirectory(folder.string()));
  const auto made = Tokenizer::Read(folder.string());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->IdOf("<sep>").has_value());
  std::ofstream(folder / "tokenizer.model", std::ios::binary) << "no model";
  const auto bad = Tokenizer::Read(folder.string());
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("tokenizer.model"), absl::string_view::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace onward::files
