// The tokenizer of a training's texts beside the trained model.
#include "cli/write_vocabulary.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/train_fixture.h"
#include "tests/support/scratch_directory.h"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;

class WriteVocabularyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_.Write("hf/tokenizer.json", "{\"model\": {}}");
    directory_.Write("hf/tokenizer_config.json", "{}");
    directory_.Write("hf/chat_template.jinja", "{{ messages }}");
    directory_.Write("hf/vocab.json", "[]");
    fs::create_directory(output_);
  }
  // `tokenizer`: as a config names it.
  absl::Status Write(const std::string& tokenizer, const fs::path& output) {
    TrainConfig config;
    TextData& text = *config.mutable_data()->mutable_text();
    text.set_tokens(TextData::TOKENIZER);
    text.set_tokenizer(tokenizer);
    return cli::WriteVocabulary(config, directory_.path(), output);
  }

  ScratchDirectory directory_;
  const fs::path output_ = directory_.path("out");
};

TEST_F(WriteVocabularyTest, CopiesWhatServersLookFor) {
  for (const char* tokenizer : {"hf", "hf/tokenizer.json"}) {
    ASSERT_TRUE(Write(tokenizer, output_).ok());
    EXPECT_EQ(ReadFile(output_ / "tokenizer.json"), "{\"model\": {}}");
    EXPECT_EQ(ReadFile(output_ / "tokenizer_config.json"), "{}");
    EXPECT_EQ(ReadFile(output_ / "chat_template.jinja"), "{{ messages }}");
    EXPECT_FALSE(fs::exists(output_ / "vocab.json"));
    fs::remove_all(output_);
    fs::create_directory(output_);
  }
}

TEST_F(WriteVocabularyTest, CopiesTheTokenizerOfRecords) {
  TrainConfig csv, jsonl;
  csv.mutable_data()->mutable_csv()->add_tokens()->set_tokenizer("hf");
  jsonl.mutable_data()->mutable_jsonl()->add_tokens()->set_tokenizer("hf/tokenizer.json");
  for (const TrainConfig& config : {csv, jsonl}) {
    ASSERT_TRUE(cli::WriteVocabulary(config, directory_.path(), output_).ok());
    EXPECT_EQ(ReadFile(output_ / "tokenizer.json"), "{\"model\": {}}");
    fs::remove_all(output_);
    fs::create_directory(output_);
  }
}

TEST_F(WriteVocabularyTest, FilesThatAreThereStay) {
  fs::create_directory_symlink(directory_.path("hf"), directory_.path("link"));
  for (const char* place : {"hf", "link"}) {
    const absl::Status status = Write("hf/tokenizer.json", directory_.path(place));
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(ReadFile(directory_.path("hf/tokenizer.json")), "{\"model\": {}}");
  }
}

TEST_F(WriteVocabularyTest, APlaceThatCannotBeWritten) {
  const absl::Status status = Write("hf", directory_.path("missing"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("cannot copy '"));
}

}  // namespace
}  // namespace onward::testing
