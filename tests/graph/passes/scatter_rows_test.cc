#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

std::string Written(const std::string& text) {
  return testing::Nodes(testing::Optimize(text, ScatterRows));
}

TEST(ScatterRows, OfOneIndexForEachRow) {
  EXPECT_EQ(Written("g (float[5,2,3] x, float[2,2,3] u) => (float[5,2,3] y) "
                    "<int64[2,1,1] i = {3, -5}, int64[3] s = {2, 2, 3}> {"
                    "e = Expand(i, s) y = ScatterElements <axis = 0> (x, e, u)}"),
            "y_Shape = Shape(u)\n"
            "y_Reshape = Reshape(i, flat)\n"
            "y_Expand = Expand(y_Reshape, y_Shape)\n"
            "y_Unsqueeze = Unsqueeze(y_Expand, axis)\n"
            "y = ScatterND(x, y_Unsqueeze, u)\n");
}

// All rows go to the same place, where they are added up.
TEST(ScatterRows, OfOneIndexForAllRows) {
  EXPECT_NE(
      Written("g (float[5,2] x, float[n,2] u) => (float[5,2] y) "
              "<int64[1,1] i = {3}, int64[2] s = {3, 2}> {"
              "e = Expand(i, s) y = ScatterElements <axis = 0, reduction = \"add\"> (x, e, u)}")
          .find("ScatterND"),
      std::string::npos);
}

TEST(ScatterRows, LeavesOtherIndices) {
  const char* const others[] = {
      // Parts of rows,
      "g (float[5,2] x, float[2,1] u) => (float[5,2] y) <int64[2,1] i = {3, 1}, int64[2] s = {2, "
      "1}> "
      "{e = Expand(i, s) y = ScatterElements <axis = 0> (x, e, u)}",
      // columns,
      "g (float[2,5] x, float[2,2] u) => (float[2,5] y) <int64[1,2] i = {3, 1}, int64[2] s = {2, "
      "2}> "
      "{e = Expand(i, s) y = ScatterElements <axis = 1> (x, e, u)}",
      // and an index for every element.
      "g (float[5,2] x, float[2,2] u) => (float[5,2] y) <int64[2,2] i = {3, 1, 0, 2}> "
      "{y = ScatterElements <axis = 0> (x, i, u)}"};
  for (const char* other : others)
    EXPECT_EQ(Written(other).find("ScatterND"), std::string::npos) << other;
}

}  // namespace
}  // namespace onward
