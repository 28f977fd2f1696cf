#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

// Rounding after every op of the original is what may differ.
constexpr double kRtol = 2e-3;

std::string Widen(const std::string& text, double rtol = kRtol) {
  return Nodes(
      Optimize(text, {{"widen_floats", WidenFloats}, {"eliminate_dead", EliminateDead}}, rtol));
}

TEST(WidenFloats, ChainsAreRoundedAtTheirEnd) {
  EXPECT_EQ(Widen("g (float16[N,2] x) => (float16[N,2] y) <float16[2,2] w = {1, 2, 3, 4}> {"
                  "a = MatMul(x, w) b = Transpose(a) y = Relu(b)}"),
            "x_float32 = Cast(x)\n"
            "a_float32 = MatMul(x_float32, w_float32)\n"
            "b_float32 = Transpose(a_float32)\n"
            "y_float32 = Relu(b_float32)\n"
            "y = Cast(y_float32)\n");
}

TEST(WidenFloats, WhatOtherOpsReadIsRounded) {
  EXPECT_EQ(Widen("g (bfloat16[2] x) => (bfloat16[2] y, double[2] z) {"
                  "y = Mul(x, x) z = Cast <to = 11> (y)}"),
            "x_float32 = Cast(x)\n"
            "y_float32 = Mul(x_float32, x_float32)\n"
            "y = Cast(y_float32)\n"
            "z = Cast(y)\n");
}

TEST(WidenFloats, CastsFromAndToFloat32RoundNothing) {
  EXPECT_EQ(Widen("g (float[2,2] x, float[2,2] w) => (float[2,2] z) {"
                  "a = Cast <to = 16> (x) b = Cast <to = 16> (w) c = MatMul(a, b)"
                  "s = Shape(c) d = Reshape(c, s) z = Cast <to = 1> (d)}",
                  4e-2),
            "c_float32 = MatMul(x, w)\n"
            "s = Shape(c_float32)\n"
            "d_float32 = Reshape(c_float32, s)\n"
            "z = Cast(d_float32)\n");
}

TEST(WidenFloats, WhatIsReadForItsDTypeAloneIsNotKept) {
  EXPECT_EQ(Widen("g (float[2] x, float[2] w) => (float[2] z) {"
                  "a = Cast <to = 16> (x) b = Relu(a) c = CastLike(w, b) d = Mul(b, c)"
                  "z = Cast <to = 1> (d)}",
                  4e-2),
            "b_float32 = Relu(x)\n"
            "d_float32 = Mul(b_float32, w)\n"
            "z = Cast(d_float32)\n");
}

TEST(WidenFloats, MovesOfNarrowElementsStay) {
  EXPECT_EQ(Widen("g (float16[N] x, float16[M] p) => (float16[K] y) {"
                  "a = Relu(x) y = Concat <axis = 0> (p, a)}"),
            "x_float32 = Cast(x)\n"
            "a_float32 = Relu(x_float32)\n"
            "a = Cast(a_float32)\n"
            "y = Concat(p, a)\n");
}

TEST(WidenFloats, ComparesWideElements) {
  EXPECT_EQ(Widen("g (float16[N] x) => (bool[N] y) {a = Tanh(x) y = IsNaN(a)}"),
            "x_float32 = Cast(x)\n"
            "a_float32 = Tanh(x_float32)\n"
            "y = IsNaN(a_float32)\n");
}

TEST(WidenFloats, NothingWithoutExcessPrecision) {
  Graph graph;
  PassOptions options;
  options.excess_precision = false;
  int budget = 1;
  EXPECT_EQ(*WidenFloats(graph, options, budget), 0);
}

}  // namespace
}  // namespace onward
