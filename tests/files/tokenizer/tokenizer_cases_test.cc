// HF's library is the truth: make_cases.py made small tokenizers and wrote what they encode and
// decode. ONWARD_TOKENIZER_CASES=DIRECTORY takes other files that the script made.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "files/tokenizer/tokenizer.h"
#include "gtest/gtest.h"

namespace onward::files {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;

fs::path Folder() {
  const char* other = std::getenv("ONWARD_TOKENIZER_CASES");
  return other != nullptr ? fs::path(other)
                          : fs::path(ONWARD_SOURCE_DIR) / "tests/files/tokenizer/cases";
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(Folder()))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class TokenizerCasesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream file(Folder() / (GetParam() + ".json"));
    const auto document = nlohmann::json::parse(file);
    cases_ = document["cases"];
    auto made = Tokenizer::Parse(document["tokenizer"].dump());
    ASSERT_TRUE(made.ok()) << made.status();
    tokenizer_.emplace(*std::move(made));
  }
  std::string Streamed(const Ids& ids, bool skip_special) const {
    TextStream stream(*tokenizer_, skip_special);
    std::string text;
    for (const int64_t id : ids) text += stream.Push(id).value_or("an error");
    return text + stream.Finish().value_or("an error");
  }

  nlohmann::json cases_;
  std::optional<Tokenizer> tokenizer_;
};

TEST_P(TokenizerCasesTest, Encodes) {
  for (const auto& row : cases_) {
    if (row[0].is_null()) continue;
    const auto text = row[0].get<std::string>();
    for (const bool special : {false, true}) {
      const auto ids = tokenizer_->Encode(text, special);
      ASSERT_TRUE(ids.ok()) << ids.status() << " of " << row[0];
      EXPECT_EQ(*ids, row[special ? 2 : 1].get<Ids>()) << row[0];
    }
  }
}

TEST_P(TokenizerCasesTest, Decodes) {
  for (const auto& row : cases_) {
    const auto ids = row[2].get<Ids>();
    for (const bool skip : {false, true}) {
      const auto text = tokenizer_->Decode(ids, skip);
      ASSERT_TRUE(text.ok()) << text.status();
      EXPECT_EQ(*text, row[skip ? 4 : 3].get<std::string>()) << row[2];
    }
  }
}

// Pieces add up to the whole text, but for bytes that are not characters.
TEST_P(TokenizerCasesTest, Streams) {
  for (const auto& row : cases_) {
    const auto ids = row[2].get<Ids>();
    for (const bool skip : {false, true}) {
      const auto whole = row[skip ? 4 : 3].get<std::string>();
      const bool bytes = GetParam() == "llama2" || GetParam() == "unigram_bytes";
      if (bytes && whole.find("\xef\xbf\xbd") != whole.npos) continue;
      EXPECT_EQ(Streamed(ids, skip), whole) << row[2];
    }
  }
}

// A text is what its tokens add, but for a space at its beginning.
TEST_P(TokenizerCasesTest, BytesAddUp) {
  const auto bytes = tokenizer_->Bytes();
  if (GetParam() == "suffix") {  // whether a space ends a word depends on what follows
    EXPECT_EQ(bytes.status().code(), absl::StatusCode::kUnimplemented);
    return;
  }
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  for (const auto& row : cases_) {
    const auto ids = row[2].get<Ids>();
    const std::string whole = Streamed(ids, true);
    if (whole.find("\xef\xbf\xbd") != whole.npos) continue;
    std::string text;
    bool other_first = false;
    for (const int64_t id : ids) {
      if (id >= static_cast<int64_t>(bytes->bytes.size())) continue;
      const auto& first = bytes->not_first;
      if (text.empty() && std::find(first.begin(), first.end(), id) != first.end())
        other_first = true;
      text += bytes->bytes[static_cast<size_t>(id)];
    }
    if (other_first || text == whole) continue;
    EXPECT_EQ(text, " " + whole) << row[2];
  }
}

INSTANTIATE_TEST_SUITE_P(Files, TokenizerCasesTest, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace onward::files
