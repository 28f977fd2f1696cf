#include "files/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace onward::files {
namespace {

TEST(JsonDepth, CountsListsAndObjects) {
  EXPECT_EQ(JsonDepth("3"), 0);
  EXPECT_EQ(JsonDepth("[]"), 1);
  EXPECT_EQ(JsonDepth(R"({"a": [1, {"b": []}], "c": [[]]})"), 4);
  EXPECT_EQ(JsonDepth(R"(["[[[", "\"[[", "\\"])"), 1);
  EXPECT_EQ(JsonDepth(std::string(1000, '[')), 1000);
  EXPECT_EQ(JsonDepth("]]][["), 0);  // not JSON: no parser comes further than the first byte
  EXPECT_EQ(JsonDepth("\"\\"), 0);
}

}  // namespace
}  // namespace onward::files
