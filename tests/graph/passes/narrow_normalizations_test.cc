#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

std::string Written(const std::string& text) {
  return testing::Nodes(testing::Optimize(text, NarrowNormalizations, 1e-2));
}

TEST(NarrowNormalizations, WriteWhatTheirResultIsCastTo) {
  EXPECT_EQ(Written("g (float[3,4] x, float[4] s, float[4] b) => (bfloat16[3,4] y) {"
                    "n = LayerNormalization (x, s, b) y = Cast <to = 16> (n)}"),
            "y = onward.NarrowLayerNormalization(x, _, s, b)\n");
  EXPECT_EQ(Written("g (float[3,4] x, float[4] s) => (float16[3,4] y) {"
                    "n = RMSNormalization (x, s) y = Cast <to = 10> (n)}"),
            "y = onward.NarrowRMSNormalization(x, _, s)\n");
  EXPECT_EQ(Written("g (float[2,3,4] x, float[4] s) => (bfloat16[6,4] y) <int64[2] t = {-1, 4}> {"
                    "n = LayerNormalization (x, s) r = Reshape (n, t) y = Cast <to = 16> (r)}"),
            "y_NarrowLayerNormalization = onward.NarrowLayerNormalization(x, _, s)\n"
            "y = Reshape(y_NarrowLayerNormalization, t)\n");
}

TEST(NarrowNormalizations, ReadEitherOperandOfTheirSum) {
  for (const char* operands : {"x, w", "w, x"}) {
    EXPECT_EQ(Written(std::string("g (float[3,4] x, bfloat16[3,4] z, float[4] s, float[4] b)"
                                  " => (bfloat16[3,4] y, float[3,4] sum) {w = Cast <to = 1> (z)"
                                  " n, sum = onward.AddLayerNormalization (") +
                      operands + ", s, b) y = Cast <to = 16> (n)}"),
              "y, sum = onward.NarrowLayerNormalization(x, z, s, b)\n");
  }
}

TEST(NarrowNormalizations, LeaveOthers) {
  const char* const others[] = {// A result that is read in float, too,
                                "g (float[3,4] x, float[4] s) => (bfloat16[3,4] y, float[3,4] n) {"
                                "n = LayerNormalization (x, s) y = Cast <to = 16> (n)}",
                                // a mean that is read,
                                "g (float[3,4] x, float[4] s) => (bfloat16[3,4] y, float[3,1] m) {"
                                "n, m = LayerNormalization (x, s) y = Cast <to = 16> (n)}",
                                // and a Cast to more bits.
                                "g (float[3,4] x, float[4] s) => (double[3,4] y) {"
                                "n = LayerNormalization (x, s) y = Cast <to = 11> (n)}"};
  for (const char* other : others)
    EXPECT_EQ(Written(other).find("Narrow"), std::string::npos) << other;
}

}  // namespace
}  // namespace onward
