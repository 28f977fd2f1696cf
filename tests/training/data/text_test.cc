#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/test_data.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

DataConfig Config(int64_t window) {
  DataConfig config;
  config.mutable_text()->set_path("text");
  config.mutable_text()->set_window(window);
  return config;
}

std::vector<int64_t> Numbers(const Dataset& data, int64_t index, size_t field,
                             uint64_t random = 0) {
  const auto example = data.Read(index, random);
  EXPECT_TRUE(example.ok()) << example.status();
  const auto numbers = example->at(field).span<int64_t>();
  return {numbers.begin(), numbers.end()};
}

TEST(TextTest, WindowsFollowEachOther) {
  const ScratchDirectory scratch;
  scratch.Write("text", std::string_view("\x05\x01\x02\x03\xff\x04\x07\x06", 8));
  DataConfig config = Config(3);
  const auto data = OpenDataset(config, scratch.path());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_THAT(Numbers(**data, 0, 0), ElementsAre(5, 1, 2));
  EXPECT_THAT(Numbers(**data, 0, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(Numbers(**data, 1, 0), ElementsAre(3, 255, 4));
  EXPECT_THAT(Numbers(**data, 1, 1), ElementsAre(255, 4, 7));
  config.mutable_text()->set_stride(1);
  const auto every = OpenDataset(config, scratch.path());
  EXPECT_EQ((*every)->size(), 5);
  EXPECT_THAT(Numbers(**every, 4, 1), ElementsAre(4, 7, 6));
}

TEST(TextTest, RandomWindowsBeginAnywhere) {
  const ScratchDirectory scratch;
  scratch.Write("text", "0123456789");
  DataConfig config = Config(4);
  config.mutable_text()->set_random(true);
  const auto data = OpenDataset(config, scratch.path());
  ASSERT_TRUE(data.ok());
  EXPECT_EQ((*data)->size(), 2);
  std::set<int64_t> starts;
  for (uint64_t i = 0; i < 64; ++i) {
    const std::vector<int64_t> tokens = Numbers(**data, 0, 0, i << 58);
    EXPECT_EQ(tokens, Numbers(**data, 1, 0, i << 58));
    EXPECT_EQ(Numbers(**data, 0, 1, i << 58).back(), tokens[0] + 4);
    starts.insert(tokens[0] - '0');
  }
  EXPECT_THAT(starts, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TextTest, SharesDoNotOverlap) {
  const ScratchDirectory scratch;
  scratch.Write("text", "abcdefghij");
  DataConfig config = Config(1);
  config.mutable_text()->set_to(0.6);
  const auto train = OpenDataset(config, scratch.path());
  config.mutable_text()->set_to(1);
  config.mutable_text()->set_from(0.6);
  const auto rest = OpenDataset(config, scratch.path());
  EXPECT_EQ((*train)->size(), 5);
  EXPECT_THAT(Numbers(**train, 4, 1), ElementsAre('f'));
  EXPECT_EQ((*rest)->size(), 3);
  EXPECT_THAT(Numbers(**rest, 0, 0), ElementsAre('g'));
}

TEST(TextTest, KindsOfTokens) {
  const ScratchDirectory scratch;
  scratch.Write("text",
                "\xc3\xa9"
                "ab"
                "ab");
  scratch.Write("v", "b\nab\n\\xc3\\xa9\n");
  DataConfig config = Config(2);
  config.mutable_text()->set_tokens(TextData::CHARACTERS);
  EXPECT_THAT(Numbers(**OpenDataset(config, scratch.path()), 0, 0), ElementsAre(2, 0));
  EXPECT_EQ(VocabularyOf(config.text(), scratch.path())->token(2), "\xc3\xa9");
  config.mutable_text()->set_tokens(TextData::VOCABULARY);
  config.mutable_text()->set_vocabulary("v");
  EXPECT_THAT(Numbers(**OpenDataset(config, scratch.path()), 0, 0), ElementsAre(2, 1));
  config.mutable_text()->set_tokens(TextData::UINT16);
  EXPECT_THAT(Numbers(**OpenDataset(config, scratch.path()), 0, 1),
              ElementsAre('b' << 8 | 'a', 'b' << 8 | 'a'));
}

// Words of one tokenizer.json; files of HF's library are compared in tests/files/tokenizer.
TEST(TextTest, TokensOfATokenizer) {
  const ScratchDirectory scratch;
  scratch.Write("text", "the cat sat on the mat");
  scratch.Write(
      "tokenizer.json",
      R"({"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"WordLevel","unk_token":"u",
                    "vocab":{"u":0,"the":1,"cat":2,"sat":3,"on":4}},"added_tokens":[]})");
  DataConfig config = Config(4);
  config.mutable_text()->set_tokens(TextData::TOKENIZER);
  const auto without = OpenDataset(config, scratch.path());
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(std::string(without.status().message()), HasSubstr("needs tokenizer"));
  config.mutable_text()->set_tokenizer("tokenizer.json");
  const auto data = OpenDataset(config, scratch.path());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(Numbers(**data, 0, 0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Numbers(**data, 0, 1), ElementsAre(2, 3, 4, 1));
  EXPECT_FALSE(HasVocabulary(config));
  EXPECT_FALSE(VocabularyOf(config.text(), scratch.path()).ok());
  scratch.Write("tokenizer.json", "{}");
  EXPECT_FALSE(OpenDataset(config, scratch.path()).ok());
}

TEST(TextTest, BadTextsAndConfigs) {
  const ScratchDirectory scratch;
  const auto error = [&](const DataConfig& config) {
    const auto data = OpenDataset(config, scratch.path());
    return data.ok() ? "OK" : std::string(data.status().message());
  };
  EXPECT_THAT(error(Config(3)), HasSubstr(absl::StrCat("cannot open '", scratch.path("text"))));
  scratch.Write("text", "abc");
  EXPECT_THAT(error(Config(3)), HasSubstr("text': 3 tokens are too few for a window of 3"));
  EXPECT_EQ(error(Config(2)), "OK");
  EXPECT_THAT(error(Config(0)), HasSubstr("must be positive"));
  DataConfig config = Config(1);
  config.mutable_text()->set_tokens(TextData::UINT32);
  EXPECT_THAT(error(config), HasSubstr("3 bytes are not a whole number of tokens of 4"));
  config.mutable_text()->set_tokens(TextData::VOCABULARY);
  EXPECT_THAT(error(config), HasSubstr("needs vocabulary"));
  scratch.Write("v", "a\nb\n");
  config.mutable_text()->set_vocabulary("v");
  EXPECT_THAT(error(config), HasSubstr("text': no token of the vocabulary fits byte 2: 'c'"));
  scratch.Write("text", "\xff\xfe");
  config.mutable_text()->set_tokens(TextData::CHARACTERS);
  EXPECT_THAT(error(config), HasSubstr("text': the text is not UTF-8"));
  config.mutable_text()->set_from(0.9);
  config.mutable_text()->set_to(0.1);
  EXPECT_THAT(error(config), HasSubstr("from < to"));
}

TEST(TextTest, Tinyshakespeare) {
  const std::string root = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(root, "ONWARD_DATA_DIR");
  DataConfig config = Config(64);
  config.mutable_text()->set_path("data/tinyshakespeare/input.txt");
  config.mutable_text()->set_tokens(TextData::CHARACTERS);
  const auto data = OpenDataset(config, root);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), (1115394 - 65) / 64 + 1);
  const auto vocabulary = VocabularyOf(config.text(), root);
  EXPECT_EQ(vocabulary->size(), 65);  // as everybody counts them
  EXPECT_EQ(vocabulary->Decode(Numbers(**data, 0, 0))->substr(0, 14), "First Citizen:");
}

}  // namespace
}  // namespace onward::training
