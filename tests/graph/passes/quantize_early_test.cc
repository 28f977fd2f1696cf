#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string Early(const std::string& text) {
  return Nodes(
      Optimize(text, {{"quantize_early", QuantizeEarly}, {"eliminate_dead", EliminateDead}}));
}

constexpr char kHead[] =
    "g (uint8[1,2,4,4] x, uint8[1,2,4,4] w, float[1,2,4,4] r) => (uint8[n,c,h,v] y) "
    "<float s = {0.5}, float same = {0.5}, float t = {0.25}, uint8 z = {7}, "
    "int64[4] shape = {1, 2, 2, 2}> {a = DequantizeLinear(x, s, z) ";

TEST(QuantizeEarly, WhatHasOneScaleIsTakenAsItIs) {
  EXPECT_EQ(Early(std::string(kHead) + "b = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a) "
                                       "y = QuantizeLinear(b, same, z)}"),
            "y = MaxPool(x)\n");
}

// Two steps, and a value of another scale.
TEST(QuantizeEarly, ThroughSeveralSteps) {
  EXPECT_EQ(Early(std::string(kHead) + "b = DequantizeLinear(w, t, z) "
                                       "c = Concat <axis = 1> (a, b) "
                                       "d = Transpose <perm = [0, 2, 3, 1]> (c) "
                                       "y = QuantizeLinear(d, s, z)}"),
            "b = DequantizeLinear(w, t, z)\n"
            "y_QuantizeLinear_QuantizeLinear = QuantizeLinear(b, s, z)\n"
            "y_QuantizeLinear = Concat(x, y_QuantizeLinear_QuantizeLinear)\n"
            "y = Transpose(y_QuantizeLinear)\n");
}

TEST(QuantizeEarly, LeavesOtherValues) {
  // A float among the inputs, a second reader, a pool that averages.
  for (const char* text : {"c = Concat <axis = 1> (a, r) y = QuantizeLinear(c, s, z)}",
                           "b = Identity(a) c = AveragePool <kernel_shape = [2, 2]> (a) y = "
                           "QuantizeLinear(c, s, z)}"}) {
    EXPECT_NE(Early(std::string(kHead) + text).find("y = QuantizeLinear(c, s, z)"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace onward
