#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

TEST(EliminateDead, ChainsThatNobodyReads) {
  EXPECT_EQ(Nodes(Optimize("g (float[2] x) => (float[2] y) { a = Exp(x) b = Log(a) y = Neg(x) }",
                           EliminateDead)),
            "y = Neg(x)\n");
}

TEST(EliminateDead, OptionalOutputsAndNamedOnesStay) {
  EXPECT_EQ(Nodes(Optimize("g (float[1,1,4,4] x) => (float[1,1,2,2] y) {"
                           "y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
                           EliminateDead)),
            "y = MaxPool(x)\n");
}

TEST(EliminateDead, StatisticsOfATrainingStay) {
  EXPECT_EQ(Nodes(Optimize("g (float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => "
                           "(float[2,3] y) {"
                           "y, next_m, next_v = BatchNormalization <training_mode = 1> "
                           "(x, s, b, m, v) d = Exp(next_m) }",
                           EliminateDead)),
            "y, next_m, next_v = BatchNormalization(x, s, b, m, v)\n");
}

TEST(EliminateDead, CapturesThatABodyDoesNotRead) {
  const Graph graph = Optimize(
      "g (bool c, float[2] x) => (float[2] y) { a = Exp(x) y = If (c) <"
      "then_branch = t () => (float[2] u) { d = Log(a) u = Neg(x) },"
      "else_branch = e () => (float[2] v) { v = Abs(x) }> }",
      EliminateDead);
  // Bodies are handled before the graph around them, so that `a` falls at once.
  EXPECT_EQ(Nodes(graph), "y = If(c)\n");
}

}  // namespace
}  // namespace onward
