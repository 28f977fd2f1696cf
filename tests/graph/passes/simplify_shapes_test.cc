#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, SimplifyShapes)); }

TEST(SimplifyShapes, KnownDimsBecomeConstants) {
  EXPECT_EQ(After("g (float[2,3] x) => (int64[2] y) { s = Shape(x) y = Neg(s) }"), "");
}

TEST(SimplifyShapes, TargetOfReshapeCopiesSymbolicDims) {
  EXPECT_EQ(After("g (float[B,S,8] x) => (float[B,S,2,4] y) <int64[2] t = {2, 4}> {"
                  "a = Shape <end = 2> (x) s = Concat <axis = 0> (a, t) y = Reshape(x, s) }"),
            "y = Reshape(x, y_const)\n");
}

TEST(SimplifyShapes, TargetOfReshapeInfersOneDim) {
  EXPECT_EQ(After("g (float[B,2,4] x) => (float[M,4] y) <int64[1] t = {4}, int64 k = {2},"
                  "int64[1] z = {0}> {"
                  "a = Shape <end = 1> (x) b = Mul(a, k) s = Concat <axis = 0> (b, t)"
                  "y = Reshape(x, s) }"),
            "y = Reshape(x, y_const)\n");
}

TEST(SimplifyShapes, TargetOfExpand) {
  EXPECT_EQ(After("g (float[B,1] x) => (float[B,4] y) <int64[1] t = {4}> {"
                  "a = Shape <end = 1> (x) s = Concat <axis = 0> (a, t) y = Expand(x, s) }"),
            "y = Expand(x, y_const)\n");
}

TEST(SimplifyShapes, GatherOfTheOnlyElementIsSqueeze) {
  EXPECT_EQ(After("g (float[1,4,B] x) => (float[4,B] y) <int64 i = {0}> { y = Gather(x, i) }"),
            "y = Squeeze(x, y_const)\n");
  EXPECT_EQ(After("g (float[4,B,1] x) => (float[4,B] y) <int64 i = {-1}> {"
                  "y = Gather <axis = -1> (x, i) }"),
            "y = Squeeze(x, y_const)\n");
}

TEST(SimplifyShapes, ShapeOfACastOrANormalizationIsThatOfItsInput) {
  EXPECT_EQ(After("g (float[n,m] x, float[m] s) => (int64[1] y) {"
                  "c = LayerNormalization (x, s) y = Shape <start = 1> (c)}"),
            "y = Shape(x)\n");
  EXPECT_EQ(After("g (float16[n,m] x) => (int64[1] y) {"
                  "c = Cast <to = 1> (x) y = Shape <start = 1> (c)}"),
            "y = Shape(x)\n");
}

TEST(SimplifyShapes, LeavesGatherOfOthers) {
  for (const char* text :
       {"g (float[2,4] x) => (float[4] y) <int64 i = {0}> { y = Gather(x, i) }",
        "g (float[B,4] x) => (float[4] y) <int64 i = {0}> { y = Gather(x, i) }",
        "g (float[1,4] x) => (float[1,4] y) <int64[1] i = {0}> { y = Gather(x, i) }",
        "g (float[1,4] x, int64 i) => (float[4] y) { y = Gather(x, i) }"})
    EXPECT_EQ(After(text), "y = Gather(x, i)\n") << text;
}

TEST(SimplifyShapes, LeavesWhatDependsOnData) {
  const char* text =
      "g (float[B,4] x, int64[2] s) => (float[N,M] y) { t = Abs(s) a = Add(t, s)"
      "b = Sub(a, s) y = Tile(x, b) }";
  EXPECT_EQ(After(text), "t = Abs(s)\na = Add(t, s)\nb = Sub(a, s)\ny = Tile(x, b)\n");
}

TEST(InlineIf, TakesTheBranchOfAConstantCondition) {
  const std::string text =
      "(float[2] x) => (float[2] y) <bool c = {1}> { a = Exp(x) z = If (c) <"
      "then_branch = t () => (float[2] u) <float[2] k = {1, 2}> { d = Log(a) u = Mul(d, k) },"
      "else_branch = e () => (float[2] v) { v = Abs(x) }> y = Neg(z) }";
  EXPECT_EQ(Nodes(Optimize("g " + text, InlineConstantIf)),
            "a = Exp(x)\nz_Log = Log(a)\nz = Mul(z_Log, k)\ny = Neg(z)\n");
}

TEST(InlineIf, NestedBodiesKeepTheirCaptures) {
  const std::string text =
      "g (bool p, float[2] x) => (float[2] y) <bool c = {0}> { a = Exp(x) y = If (c) <"
      "then_branch = t () => (float[2] u) { u = Abs(x) },"
      "else_branch = e () => (float[2] v) { b = Neg(a) v = If (p) <"
      "then_branch = tt () => (float[2] q) { q = Add(a, b) },"
      "else_branch = ee () => (float[2] r) { r = Sub(x, b) }> }> }";
  EXPECT_EQ(Nodes(Optimize(text, InlineConstantIf)), "a = Exp(x)\ny_Neg = Neg(a)\ny = If(p)\n");
}

}  // namespace
}  // namespace onward
