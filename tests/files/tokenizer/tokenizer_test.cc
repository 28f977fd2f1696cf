// What files and texts are refused, and how long hostile ones take.
#include "files/tokenizer/tokenizer.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"

namespace onward::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

constexpr char kModel[] = R"({"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "b"})";

std::string File(const std::string& members, const std::string& model = kModel) {
  return absl::StrCat("{", members, members.empty() ? "" : ",", "\"model\":", model, "}");
}

std::string Error(const std::string& json) {
  const auto made = Tokenizer::Parse(json);
  return made.ok() ? "OK" : std::string(made.status().message());
}

// The error of a tokenizer that splits by `pattern`.
std::string ErrorOf(const std::string& pattern) {
  nlohmann::json file = nlohmann::json::parse(File(""));
  file["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
  return Error(file.dump());
}

TEST(TokenizerTest, UnsupportedMembersAreNamed) {
  EXPECT_EQ(Error(File("")), "OK");
  EXPECT_EQ(Error(File(R"("pre_tokenizer": {"type": "X"})")),
            "pre_tokenizer.type: 'X' is not supported");
  EXPECT_EQ(Error(File(R"("normalizer": {"type": "Sequence", "normalizers": [
                          {"type": "NFC"}, {"type": "Y"}]})")),
            "normalizer.normalizers[1].type: 'Y' is not supported");
  EXPECT_EQ(Error(File(R"("decoder": {"type": "CTC"})")), "decoder.type: 'CTC' is not supported");
  EXPECT_EQ(Error(File(R"("post_processor": {"type": "Z"})")),
            "post_processor.type: 'Z' is not supported");
  EXPECT_EQ(Error(File("", R"({"type": "W", "vocab": {}})")), "model.type: 'W' is not supported");
  EXPECT_EQ(Error(File(R"("normalizer": {"type": "NFC", "form": 1})")),
            "normalizer.form is not supported");
  EXPECT_EQ(Error(File(R"("extra": 1)")), "extra is not supported");
  EXPECT_EQ(Error(File(R"("pre_tokenizer": {"type": "Punctuation", "behavior": "Q"})")),
            "pre_tokenizer.behavior: 'Q' is not supported");
}

TEST(TokenizerTest, BadFilesAreRefused) {
  EXPECT_THAT(Error("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(Error("[]"), HasSubstr("must be an object"));
  EXPECT_EQ(Error("{}"), "model is missing");
  EXPECT_THAT(Error(std::string(100000, '[')), HasSubstr("nested more than 64 times"));
  EXPECT_EQ(Error(File("", R"({"type": "WordLevel", "vocab": {"a": -1}})")),
            "model.vocab: the id of 'a' must be an integer from 0 to 2147483647");
  EXPECT_EQ(Error(File("", R"({"type": "WordLevel", "vocab": {"a": 1, "b": 1}})")),
            "model.vocab: 'a' and 'b' both have the id 1");
  EXPECT_EQ(Error(File("", R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]})")),
            "model.merges[0]: 'ab' is not in the vocabulary");
  EXPECT_EQ(Error(File("", R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})")),
            "model.merges[0]: must be two tokens and a space between them");
  EXPECT_EQ(Error(File("", R"({"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1})")),
            "model.dropout: only null and 0 are supported: others draw at random");
  EXPECT_EQ(Error(File("", R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1})")),
            "model.unk_id: 1 is beyond the vocabulary of 1");
  EXPECT_EQ(Error(File(R"("added_tokens": [{"id": 7, "content": "a"}])")),
            "added_tokens[0]: 'a' has the id 7, and in the model 0");
  EXPECT_THAT(Error(File(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AA"})")),
              HasSubstr("is not a map of SentencePiece"));
}

TEST(TokenizerTest, ExpressionsThatWouldMeanSomethingElse) {
  EXPECT_EQ(ErrorOf(R"([\s\d]+|\p{L}{1,3}|\bx)"), "OK");
  for (const char* pattern :
       {"[a&&b]", "[a[b]]", R"(\h)", "(?m:.)", "a{1,2}+", "(?<n>a)", R"(\Qa)"})
    EXPECT_THAT(ErrorOf(pattern), HasSubstr("is not supported")) << pattern;
  EXPECT_THAT(ErrorOf("(a"), HasSubstr("missing closing parenthesis"));
}

TEST(TokenizerTest, TextsThatCannotBeEncoded) {
  const auto level = Tokenizer::Parse(File("", R"({"type": "WordLevel", "vocab": {"a": 0}})"));
  ASSERT_TRUE(level.ok()) << level.status();
  EXPECT_THAT(std::string(level->Encode("\xff", true).status().message()), HasSubstr("not UTF-8"));
  EXPECT_THAT(std::string(level->Encode("c", true).status().message()),
              HasSubstr("the vocabulary does not have 'c', and there is no unk_token"));
  EXPECT_EQ(*level->Decode({0, 99, -1}, true), "a");
}

TEST(TokenizerTest, LongWordsTakeLittleTime) {
  const auto bpe = Tokenizer::Parse(File("", R"({"type": "BPE", "vocab": {"a": 0, "aa": 1,
      "aaa": 2}, "merges": ["a a", "aa a"]})"));
  ASSERT_TRUE(bpe.ok()) << bpe.status();
  const auto ids = bpe->Encode(std::string(1000000, 'a'), false);
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->size(), 500000u);
  // Marks in the wrong order: sorting them one by one would take hours.
  std::string marks = "a";
  for (int i = 0; i < 200000; ++i) marks += i < 100000 ? "\xcc\x81" : "\xcc\xa3";
  const auto nfc = Tokenizer::Parse(File(R"("normalizer": {"type": "NFC"})"));
  EXPECT_TRUE(nfc->Encode(marks, false).ok());
}

TEST(TokenizerTest, TextsDoNotGrowWithoutBounds) {
  std::string steps = R"({"type": "ByteLevel"})";
  for (int i = 0; i < 40; ++i) steps += R"(,{"type": "ByteLevel"})";
  const auto made = Tokenizer::Parse(
      File(absl::StrCat(R"("normalizer": {"type": "Sequence", "normalizers": [)", steps, "]}")));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(std::string(made->Encode("  ", false).status().message()),
              HasSubstr("bytes of the text"));
}

TEST(TokenizerTest, DirectoriesAndTheirConfiguration) {
  const ScratchDirectory scratch;
  EXPECT_EQ(Tokenizer::Read(scratch.path()).status().code(), absl::StatusCode::kNotFound);
  const std::string file = scratch.Write("tokenizer.json", File(""));
  EXPECT_EQ(Tokenizer::Read(scratch.path())->eos(), std::nullopt);
  scratch.Write("tokenizer_config.json", R"({"bos_token": "a", "eos_token": {"content": "b"}})");
  const auto made = Tokenizer::Read(file);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->bos(), 0);
  EXPECT_EQ(made->eos(), 1);
  EXPECT_EQ(made->size(), 2);
  EXPECT_THAT(*made->Encode("a", true), ElementsAre(0));
  scratch.Write("tokenizer_config.json", R"({"eos_token": "c"})");
  EXPECT_THAT(std::string(Tokenizer::Read(file).status().message()),
              HasSubstr("tokenizer_config.json.eos_token: 'c' is not a token"));
  EXPECT_TRUE(Tokenizer::IsTokenizer(file));
  EXPECT_TRUE(Tokenizer::IsTokenizer(scratch.path()));
  EXPECT_FALSE(Tokenizer::IsTokenizer(scratch.Write("v", R"({"model": 0, "a": 1})")));
  EXPECT_FALSE(Tokenizer::IsTokenizer(scratch.path("nowhere")));
}

// The euro sign's bytes come one by one, and never apart.
TEST(TokenizerTest, StreamsHoldBackPartsOfCharacters) {
  const auto made = Tokenizer::Parse(
      File(R"("decoder": {"type": "ByteFallback"})",
           R"({"type": "WordLevel", "vocab": {"<0xE2>": 0, "<0x82>": 1, "<0xAC>": 2, "x": 3}})"));
  ASSERT_TRUE(made.ok()) << made.status();
  TextStream stream(*made, true);
  EXPECT_EQ(*stream.Push(3), "x");
  EXPECT_EQ(*stream.Push(0), "");
  EXPECT_EQ(*stream.Push(1), "");
  EXPECT_EQ(*stream.Push(2), "\xe2\x82\xac");
  EXPECT_EQ(*stream.Push(0), "");
  EXPECT_EQ(*stream.Push(3), "\xef\xbf\xbdx");
  EXPECT_EQ(*stream.Push(0), "");
  EXPECT_EQ(*stream.Finish(), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace onward::files
