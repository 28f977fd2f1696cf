#include "onward/vocabulary.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"

namespace onward::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

absl::StatusOr<Vocabulary> FromFile(std::string_view bytes) {
  const ScratchDirectory scratch;
  return Vocabulary::Read(scratch.Write("v.txt", bytes));
}

std::string Error(std::string_view bytes) {
  const auto made = FromFile(bytes);
  return made.ok() ? "OK" : std::string(made.status().message());
}

TEST(VocabularyTest, BytesAreTheirNumbers) {
  const Vocabulary bytes = Vocabulary::Bytes();
  EXPECT_EQ(bytes.size(), 256);
  EXPECT_THAT(*bytes.Encode(std::string_view("a\0\xff", 3)), ElementsAre(97, 0, 255));
  EXPECT_EQ(*bytes.Decode({104, 105}), "hi");
  EXPECT_EQ(bytes.Decode({256}).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(VocabularyTest, CharactersByCodePoint) {
  const auto characters = Vocabulary::OfCharacters(
      "b\n\xc3\xa9"
      "ab\xe2\x82\xac");
  ASSERT_TRUE(characters.ok());
  EXPECT_EQ(characters->size(), 5);
  EXPECT_THAT(*characters->Encode("\na\xe2\x82\xac\xc3\xa9"), ElementsAre(0, 1, 4, 3));
  EXPECT_THAT(std::string(characters->Encode("abz").status().message()),
              HasSubstr("no token of the vocabulary fits byte 2: 'z'"));
  EXPECT_FALSE(Vocabulary::OfCharacters("\xff").ok());
}

TEST(VocabularyTest, TheLongestTokenWins) {
  const auto made = FromFile("a\nab\nabcd\nc\n\\n\n\\x00\n\\\\\n");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->size(), 7);
  EXPECT_THAT(*made->Encode("abcabcd\n\\"), ElementsAre(1, 3, 2, 4, 6));
}

TEST(VocabularyTest, Json) {
  const auto made = FromFile(R"({"b": 0, "\u00e9": 2, "a": 1})");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(*made->Encode("ab\xc3\xa9"), ElementsAre(1, 0, 2));
  EXPECT_THAT(Error(R"({"a": 0, "b": 0})"), HasSubstr("two tokens have the number 0"));
  EXPECT_THAT(Error(R"({"a": 1})"), HasSubstr("token 0 has 0 bytes"));
  EXPECT_THAT(Error(R"({"a": -1})"), HasSubstr("token 'a' needs a number in [0, 2^24)"));
  EXPECT_THAT(Error(R"({"a": 99999999999})"), HasSubstr("needs a number"));
  EXPECT_THAT(Error(R"({"a": {"b": 0}})"), HasSubstr("needs a number"));
  EXPECT_THAT(Error(R"({"a": 0)"), HasSubstr("not JSON"));
}

TEST(VocabularyTest, BadFiles) {
  EXPECT_THAT(Error("a\n\nb\n"), HasSubstr("v.txt': token 1 has 0 bytes"));
  EXPECT_THAT(Error("a\nb\na\n"), HasSubstr("tokens 0 and 2 are both 'a'"));
  EXPECT_THAT(Error("a\n\\q\n"), HasSubstr("line 2: Unknown escape sequence: \\q"));
  EXPECT_THAT(Error(std::string(5000, 'x')), HasSubstr("token 0 has 5000 bytes"));
  EXPECT_EQ(Vocabulary::Read("/nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST(VocabularyTest, WrittenIsRead) {
  const ScratchDirectory scratch;
  for (const Vocabulary& made :
       {Vocabulary::Bytes(), *Vocabulary::OfCharacters("\n\t\\{\"\xc3\xa9 ")}) {
    ASSERT_TRUE(made.Write(scratch.path("v")).ok());
    const auto back = Vocabulary::Read(scratch.path("v"));
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(back->size(), made.size());
    for (int64_t i = 0; i < made.size(); ++i) EXPECT_EQ(back->token(i), made.token(i));
  }
}

}  // namespace
}  // namespace onward::files
