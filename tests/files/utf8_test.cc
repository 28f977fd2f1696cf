#include "files/utf8.h"

#include <gtest/gtest.h>

namespace onward::files {
namespace {

constexpr char kReplacement[] = "\xef\xbf\xbd";

TEST(Utf8Test, FrontsAreCharactersOrTheirBeginnings) {
  const auto front = [](std::string_view text, size_t bytes, bool complete, bool open) {
    const Utf8Front got = FrontOfUtf8(text);
    return got.bytes == bytes && got.complete == complete && got.open == open;
  };
  EXPECT_TRUE(front("ab", 1, true, false));
  EXPECT_TRUE(front("\xe2\x82\xacx", 3, true, false));
  EXPECT_TRUE(front("\xe2\x82", 2, false, true));    // the text ends too early
  EXPECT_TRUE(front("\xe2\x82x", 2, false, false));  // another character comes
  EXPECT_TRUE(front("\x80", 1, false, false));
  EXPECT_TRUE(front("\xc0\xaf", 1, false, false));      // overlong
  EXPECT_TRUE(front("\xed\xa0\x80", 1, false, false));  // a surrogate
  EXPECT_TRUE(front("\xf4\x90\x80\x80", 1, false, false));
}

TEST(Utf8Test, MalformedBytesAreReplaced) {
  EXPECT_EQ(ReplaceMalformed("a\xe2\x82\xac"), "a\xe2\x82\xac");
  EXPECT_EQ(ReplaceMalformed("\xe2\x82x\xff"), std::string(kReplacement) + "x" + kReplacement);
  EXPECT_EQ(ReplaceMalformed("\xed\xa0\x80"),
            std::string(kReplacement) + kReplacement + kReplacement);
}

}  // namespace
}  // namespace onward::files
