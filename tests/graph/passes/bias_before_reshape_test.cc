#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

// Returns the nodes that `op` on x, [N, S, 6] as [N, S, 2, 3], and a constant of `dims` becomes.
std::string After(const std::string& op, const std::string& dims) {
  return Nodes(Optimize(
      absl::StrCat("g (float[N,S,6] x) => (float[] y) <int64[4] shape = {0, 0, 2, 3}> {"
                   "d = Constant <value_ints = [",
                   dims,
                   "]> () n = ReduceProd <keepdims = 0> (d) z = Constant <value_int = 0> () "
                   "o = Constant <value_int = 1> () r = Range(z, n, o) "
                   "f = Cast <to = 1> (r) c = Reshape(f, d) "
                   "h = Reshape(x, shape) y = ",
                   op, " }"),
      {{"fold", FoldConstants}, {"bias", BiasBeforeReshape}, {"dead", EliminateDead}}));
}

TEST(BiasBeforeReshape, OfTheAxisThatIsSplit) {
  const std::string moved = "y_Add = Add(x, y_const)\ny = Reshape(y_Add, shape)\n";
  EXPECT_EQ(After("Add(h, c)", "2, 3"), moved);
  EXPECT_EQ(After("Add(c, h)", "1, 1, 2, 3"), moved);
  EXPECT_EQ(After("Mul(h, c)", "1"), "y_Mul = Mul(x, y_const)\ny = Reshape(y_Mul, shape)\n");
}

TEST(BiasBeforeReshape, NotOfOtherShapes) {
  for (const char* dims : {"3", "2, 1", "3, 1, 2, 3", "1, 1, 1, 2, 3"})
    EXPECT_NE(After("Add(h, c)", dims).find("y = Add(h, c)"), std::string::npos) << dims;
}

// tf2onnx multiplies matrices of rows, and takes the rows apart behind them.
TEST(BiasBeforeReshape, BehindAProductOfRows) {
  EXPECT_EQ(Nodes(Optimize("g (float[M,4] x, float[4,6] w) => (float[] y)"
                           " <int64[4] shape = {-1, 2, 3, 1}, int64[1] last = {3},"
                           " float[2,3] c = {1, 2, 3, 4, 5, 6}> {"
                           " p = MatMul(x, w) h = Reshape(p, shape) s = Squeeze(h, last)"
                           " y = Add(c, s) }",
                           BiasBeforeReshape)),
            "p = MatMul(x, w)\ny_Add = Add(p, y_const)\ny_Reshape = Reshape(y_Add, shape)\n"
            "y = Squeeze(y_Reshape, last)\n");
  EXPECT_EQ(Nodes(Optimize("g (float[M,4] x, float[4,6] w) => (float[] y)"
                           " <int64[3] shape = {-1, 1, 6}, float[6] c = {1, 2, 3, 4, 5, 6}> {"
                           " p = MatMul(x, w) h = Reshape(p, shape) y = Add(c, h) }",
                           BiasBeforeReshape)),
            "p = MatMul(x, w)\ny_Add = Add(p, y_const)\ny = Reshape(y_Add, shape)\n");
}

// PyTorch's BatchNorm1d of a sequence whose batch and positions are flattened.
TEST(BiasBeforeReshape, OfANormalizationBehindAProductOfRows) {
  constexpr char kModel[] =
      "g (float[N,3,2] x) => (float[] y) <float[2,2] w = {0.5, 3, 1, -1}, int64[2] rows = {-1, 2},"
      " int64[3] back = {-1, 3, 2}, float[2] s = {1.5, -2}, float[2] b = {0.25, 1},"
      " float[2] m = {0.5, -1}, float[2] v = {0.3, 2}> { p = MatMul(x, w) h = Reshape(p, rows)"
      " n = BatchNormalization(h, s, b, m, v) y = Reshape(n, back) }";
  EXPECT_EQ(Nodes(Optimize(kModel, BiasBeforeReshape)),
            "p = MatMul(x, w)\nn_Mul = Mul(p, n_const)\nn_Add = Add(n_Mul, n_const_1)\n"
            "n = Reshape(n_Add, rows)\ny = Reshape(n, back)\n");
  EXPECT_EQ(Nodes(Optimize(kModel, PortablePipeline())),
            "n_Mul = MatMul(x, w_scaled)\ny = Add(n_Mul, n_const_1)\n");
}

TEST(BiasBeforeReshape, NotWhereTheReshapeDoesMore) {
  const std::string joins =
      "g (float[N,3,2] x) => (float[] y) <int64[3] shape = {-1, 2, 3},"
      " float[2,3] c = {1, 2, 3, 4, 5, 6}> { h = Reshape(x, shape) y = Add(h, c) }";
  EXPECT_NE(Nodes(Optimize(joins, BiasBeforeReshape)).find("y = Add(h, c)"), std::string::npos);
  const std::string read_twice =
      "g (float[N,S,6] x) => (float[] y, float[] z) <int64[4] shape = {0, 0, 2, 3},"
      " float[2,3] c = {1, 2, 3, 4, 5, 6}> { h = Reshape(x, shape) y = Add(h, c) z = Neg(h) }";
  EXPECT_NE(Nodes(Optimize(read_twice, BiasBeforeReshape)).find("y = Add(h, c)"),
            std::string::npos);
}

}  // namespace
}  // namespace onward
