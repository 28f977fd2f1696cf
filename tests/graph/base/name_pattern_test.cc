#include "graph/base/name_pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace onward {
namespace {

TEST(NamePattern, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesPattern("fc.weight", "fc.weight"));
  EXPECT_FALSE(MatchesPattern("fc.weight", "fc"));
  EXPECT_TRUE(MatchesPattern("layer1.0.bn1.weight", "layer1.*"));
  EXPECT_TRUE(MatchesPattern("layer1.0.bn1.weight", "*.bn?.weight"));
  EXPECT_FALSE(MatchesPattern("layer1.0.bn.weight", "*.bn?.weight"));
  EXPECT_TRUE(MatchesPattern("", "*"));
  EXPECT_TRUE(MatchesPattern("", ""));
  EXPECT_FALSE(MatchesPattern("", "?"));
  EXPECT_TRUE(MatchesPattern("abcbd", "a*b?"));
  EXPECT_FALSE(MatchesPattern("abcb", "a*b?d"));
  EXPECT_TRUE(MatchesPattern("aXbYbZ", "a*b*b*"));
  EXPECT_FALSE(MatchesPattern("abc", ""));
}

TEST(NamePattern, AnyOfSeveral) {
  const std::vector<std::string> patterns = {"encoder.*", "*.bias"};
  EXPECT_TRUE(MatchesAny("head.bias", patterns));
  EXPECT_FALSE(MatchesAny("head.weight", patterns));
  EXPECT_FALSE(MatchesAny("head.weight", {}));
}

// A pattern of many stars takes no exponential time.
TEST(NamePattern, ManyStars) {
  const std::string name(2000, 'a');
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(MatchesPattern(name, pattern + "b"));
}

}  // namespace
}  // namespace onward
