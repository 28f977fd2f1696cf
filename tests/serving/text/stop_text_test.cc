#include "serving/text/stop_text.h"

#include "gtest/gtest.h"

namespace onward::serving {
namespace {

std::string Shown(StopText& text, const std::vector<std::string>& pieces) {
  std::string shown;
  for (const std::string& piece : pieces) shown += text.Push(piece) + "|";
  return shown + text.Finish();
}

TEST(StopTextTest, EndsBeforeTheFirstStop) {
  StopText text({"END", "\n\n"});
  EXPECT_EQ(Shown(text, {"one\n", "\ntwo END"}), "one||");
  EXPECT_TRUE(text.stopped());
}

TEST(StopTextTest, HoldsBackWhatMayBeginAStop) {
  StopText text({"abcd"});
  EXPECT_EQ(Shown(text, {"xa", "b", "c", "abcx"}), "x|||abcabcx|");
  EXPECT_FALSE(text.stopped());
}

TEST(StopTextTest, ShowsAllOfATextThatEndsLikeAStopBegins) {
  StopText text({"abcd"});
  EXPECT_EQ(Shown(text, {"x", "abc"}), "x||abc");
}

TEST(StopTextTest, FindsAStopThatOverlapsItself) {
  StopText text({"aab"});
  EXPECT_EQ(Shown(text, {"a", "a", "a", "b"}), "||a||");
  EXPECT_TRUE(text.stopped());
}

TEST(StopTextTest, WithoutStopsShowsEverything) {
  StopText text({});
  EXPECT_EQ(Shown(text, {"a", "b"}), "a|b|");
}

}  // namespace
}  // namespace onward::serving
