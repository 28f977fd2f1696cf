#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

// Weights are rounded to 8 bits.
std::string Written(const std::string& text) {
  return testing::Nodes(testing::Optimize(text, AbsorbCasts, 1e-2));
}

TEST(AbsorbCasts, OfBatchNormalizationOnBothSides) {
  EXPECT_EQ(Written("g (bfloat16[2,3,4] x, float[3] s, bfloat16[2,3,4] g)"
                    " => (bfloat16[2,3,4] y, float[3] ds, float[3] db) {"
                    "c = Cast <to = 1> (g)"
                    "d, ds, db = onward.BatchNormalizationGradient (x, s, c)"
                    "y = Cast <to = 16> (d)}"),
            "y, ds, db = onward.BatchNormalizationGradient(x, s, g)\n");
}

TEST(AbsorbCasts, OfLayerNormalizationBeforeIt) {
  EXPECT_EQ(Written("g (float[5,4] x, float[4] s, float16[5,4] g)"
                    " => (float[5,4] dx, float[4] ds, float[4] db) {"
                    "c = Cast <to = 1> (g)"
                    "dx, ds, db = onward.LayerNormalizationGradient (x, s, c)}"),
            "dx, ds, db = onward.LayerNormalizationGradient(x, s, g)\n");
}

TEST(AbsorbCasts, OfWeightsOfConvolutions) {
  for (const char* x : {"x", "w = Cast <to = 1> (x)"}) {
    const bool cast = std::string(x) != "x";
    EXPECT_EQ(Written(absl::StrCat("g (bfloat16[2,3,5] x, bfloat16[2,4,3] g) => (float[4,3,3] y) {",
                                   cast ? x : "", " c = Cast <to = 1> (g) ",
                                   "y = onward.ConvWeightGradient <kernel_shape = [3]> (",
                                   cast ? "w" : "x", ", c)}")),
              "y_ConvWeightGradient = onward.ConvWeightGradient(x, g)\n"
              "y = Cast(y_ConvWeightGradient)\n");
  }
}

TEST(AbsorbCasts, OfTheOutputOfRelu) {
  EXPECT_EQ(Written("g (float16[4] y, float[4] g) => (float[4] d) {"
                    "w = Cast <to = 1> (y) d = onward.ReluGradient (w, g)}"),
            "d = onward.ReluGradient(y, g)\n");
}

TEST(AbsorbCasts, LeaveOthers) {
  const char* const others[] = {
      // A gradient of float that is read as such,
      "g (bfloat16[2,3,4] x, float[3] s, bfloat16[2,3,4] g)"
      " => (float[2,3,4] y, float[3] ds, float[3] db) {c = Cast <to = 1> (g)"
      " y, ds, db = onward.BatchNormalizationGradient (x, s, c)}",
      // and images of another type than the gradient's.
      "g (float[2,3,5] x, bfloat16[2,4,3] g) => (float[4,3,3] y) {c = Cast <to = 1> (g)"
      " y = onward.ConvWeightGradient <kernel_shape = [3]> (x, c)}"};
  for (const char* other : others) {
    EXPECT_NE(Written(other).find("Cast(g)"), std::string::npos) << other;
  }
}

}  // namespace
}  // namespace onward
