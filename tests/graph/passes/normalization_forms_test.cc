#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& body, const std::string& scale = "float[1,1,8]") {
  return Nodes(Optimize(absl::StrCat("g (float[B,S,8] x) => (float[B,S,8] y) <", scale,
                                     " g = {1, 2, 3, 4, 5, 6, 7, 8}, ", scale,
                                     " b = {8, 7, 6, 5, 4, 3, 2, 1}, int64[1] last = {-1},"
                                     " float n = {8}, float inverse = {0.125}, float zero = {0},"
                                     " float one = {1}, float e = {0.001}> {",
                                     body, "}"),
                        {{"forms", NormalizationForms},
                         {"common", CommonSubexpressions},
                         {"fuse", FuseNormalization},
                         {"dead", EliminateDead}},
                        1e-4));
}

constexpr char kFused[] = "y = LayerNormalization(x, ";

// keras.layers.LayerNormalization: x * inv + (beta - mean * inv).
TEST(NormalizationForms, Keras) {
  const std::string moments =
      "m = ReduceMean(x, last) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, last) w = Add(v, e)"
      "r = Sqrt(w) i = Reciprocal(r) f = Mul(i, g) xf = Mul(x, f) ";
  for (const char* rest : {"mf = Mul(m, f) s = Sub(b, mf) y = Add(xf, s)",
                           "k = Neg(m) mf = Mul(k, f) s = Add(mf, b) y = Add(xf, s)",
                           "k = Neg(m) mf = Mul(f, k) s = Add(b, mf) y = Add(s, xf)"})
    EXPECT_EQ(After(moments + rest).substr(0, sizeof(kFused) - 1), kFused) << rest;
  EXPECT_EQ(After(moments + "k = Neg(m) s = Mul(k, f) y = Add(xf, s)").substr(0, 25),
            std::string(kFused).substr(0, 25));
}

// flax.linen.LayerNorm: mean(x^2) - mean(x)^2, and the scale in the factor.
TEST(NormalizationForms, Flax) {
  const std::string scaled =
      "d = Sub(x, m) w = Add(v, e) r = Sqrt(w) i = Reciprocal(r) f = Mul(i, g) p = Mul(d, f)"
      "y = Add(p, b)";
  EXPECT_EQ(After("m = ReduceMean(x, last) q = Mul(x, x) a = ReduceMean(q, last) c = Mul(m, m)"
                  "u = Sub(a, c) v = Max(zero, u)" +
                  scaled)
                .substr(0, sizeof(kFused) - 1),
            kFused);
  EXPECT_EQ(After("t = ReduceSum(x, last) m = Mul(t, inverse) q = Mul(x, x) h = ReduceSum(q, last)"
                  "a = Div(h, n) c = Mul(m, m) u = Sub(a, c) v = Relu(u)" +
                      scaled,
                  "float[8]")
                .substr(0, sizeof(kFused) - 1),
            kFused);
}

// keras.layers.LayerNormalization of three axes by tf2onnx, whose means are pools.
TEST(NormalizationForms, PoolsOfTf2Onnx) {
  EXPECT_EQ(After("m = GlobalAveragePool(x) k = Neg(m) d = Sub(x, m) q = Mul(d, d)"
                  "v = GlobalAveragePool(q) w = Add(v, e) r = Sqrt(w) i = Reciprocal(r)"
                  "f = Mul(i, g) kf = Mul(k, f) s = Add(kf, b) xf = Mul(x, f) y = Add(xf, s)",
                  "float[8]")
                .substr(0, sizeof(kFused) - 1),
            kFused);
}

// tf2onnx: sums without their axes, which come back by a Reshape or Unsqueeze.
TEST(NormalizationForms, AxesThatComeBack) {
  EXPECT_EQ(After("t = ReduceSum <keepdims = 0> (x, last) k = Mul(t, inverse) q = Mul(x, x)"
                  "h = ReduceSum <keepdims = 0> (q, last) a = Mul(h, inverse) c = Mul(k, k)"
                  "u = Sub(a, c) z = Max(u, zero) v = Unsqueeze(z, last) m = Unsqueeze(k, last)"
                  "d = Sub(x, m) w = Add(v, e) r = Sqrt(w) i = Div(one, r) f = Mul(g, i)"
                  "p = Mul(f, d) y = Add(b, p)")
                .substr(0, sizeof(kFused) - 1),
            kFused);
}

TEST(NormalizationForms, LeavesOthers) {
  const auto stays = [](const std::string& body, const std::string& part) {
    EXPECT_NE(After(body).find(part), std::string::npos) << After(body);
  };
  // Not the number of elements; another mean; a factor that is not of a deviation.
  stays("t = ReduceSum(x, last) m = Mul(t, e) y = Sub(x, m)", "ReduceSum");
  stays(
      "a = ReduceMean(x, last) q = Mul(x, x) k = Mul(x, q) c = ReduceMean(k, last)"
      "u = Mul(c, c) s = ReduceMean(q, last) v = Sub(s, u) y = Add(x, v)",
      "v = Sub(s, u)");
  stays(
      "m = ReduceMean(x, last) f = Mul(x, g) p = Mul(x, f) k = Mul(m, f) s = Sub(b, k)"
      "y = Add(p, s)",
      "s = Sub(b, k)");
}

}  // namespace
}  // namespace onward
