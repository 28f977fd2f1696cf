#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

std::string Written(const std::string& text) {
  return testing::Nodes(testing::Optimize(text, WidenLosses));
}

TEST(WidenLosses, ReadScoresBeforeTheirCast) {
  EXPECT_EQ(Written("g (bfloat16[2,3,7] x, int64[6] l) => (float y) <int64[2] s = {-1, 7}> {"
                    "c = Cast <to = 1> (x) r = Reshape (c, s)"
                    "y = SoftmaxCrossEntropyLoss <ignore_index = 3, reduction = \"sum\"> (r, l)}"),
            "y_Reshape = Reshape(x, s)\n"
            "y = onward.WideSoftmaxCrossEntropyLoss(y_Reshape, l)\n");
  EXPECT_EQ(Written("g (float16[n,7] x, int64[n] l) => (float y) {"
                    "c = Cast <to = 1> (x) y = SoftmaxCrossEntropyLoss (c, l)}"),
            "y = onward.WideSoftmaxCrossEntropyLoss(x, l)\n");
}

TEST(WidenLosses, WriteGradientsOfTheScoresType) {
  const std::string gradient =
      "d = onward.SoftmaxCrossEntropyLossGradient (r, l, g) e = Reshape (d, t)";
  const std::string head =
      "g (bfloat16[2,3,7] x, int64[6] l, float[6] g) => (bfloat16[2,3,7] y) "
      "<int64[2] s = {-1, 7}, int64[3] t = {2, 3, 7}> {c = Cast <to = 1> (x) r = Reshape (c, s) ";
  EXPECT_EQ(Written(head + gradient + " y = Cast <to = 16> (e)}"),
            "y_Reshape = Reshape(x, s)\n"
            "y_SoftmaxCrossEntropyLossGradient = "
            "onward.SoftmaxCrossEntropyLossGradient(y_Reshape, l, g)\n"
            "y = Reshape(y_SoftmaxCrossEntropyLossGradient, t)\n");
}

TEST(WidenLosses, LeaveOthers) {
  const char* const others[] = {
      // Weights of the classes,
      "g (float16[n,7] x, int64[n] l, float[7] w) => (float y) {"
      "c = Cast <to = 1> (x) y = SoftmaxCrossEntropyLoss (c, l, w)}",
      // logarithms that are read,
      "g (float16[n,7] x, int64[n] l) => (float y, float[n,7] z) {"
      "c = Cast <to = 1> (x) y, z = SoftmaxCrossEntropyLoss (c, l)}",
      // scores that were never narrow,
      "g (double[n,7] x, int64[n] l) => (float y) {"
      "c = Cast <to = 1> (x) y = SoftmaxCrossEntropyLoss (c, l)}",
      // and a gradient of another type than the scores'.
      "g (bfloat16[n,7] x, int64[n] l, float[n] g) => (float16[n,7] y) {c = Cast <to = 1> (x) "
      "d = onward.SoftmaxCrossEntropyLossGradient (c, l, g) y = Cast <to = 10> (d)}"};
  for (const char* other : others)
    EXPECT_NE(Written(other).find("Cast(x)"), std::string::npos) << other;
}

}  // namespace
}  // namespace onward
