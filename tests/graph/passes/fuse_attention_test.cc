#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text, double rtol = 1e-4) {
  return Nodes(Optimize(text,
                        {{"merge", MergeChains},
                         {"heads", FuseAttentionHeads},
                         {"mask", FuseAttentionMask},
                         {"layout", FuseAttentionLayout},
                         {"dead", EliminateDead}},
                        rtol));
}

TEST(FuseAttention, OnHeadsWithScaleAndMask) {
  EXPECT_EQ(After("g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,5] v, float[B,1,1,T] m)"
                  "=> (float[B,2,S,5] y) <float s = {0.5}> {"
                  "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, t) b = Mul(a, s)"
                  "c = Add(b, m) p = Softmax(c) y = MatMul(p, v) }"),
            "y = Attention(q, k, v, m)\n");
}

TEST(FuseAttention, HalfPrecision) {
  EXPECT_EQ(After("g (float16[B,2,S,4] q, float16[B,2,T,4] k, float16[B,2,T,5] v, "
                  "float16[B,1,1,T] m) => (float16[B,2,S,5] y) {"
                  "s = Constant <value = float16 {14336}> ()"  // 0.5
                  "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, t) b = Mul(a, s)"
                  "c = Add(b, m) p = Softmax(c) y = MatMul(p, v) }",
                  1e-2),
            "y = Attention(q, k, v, m)\n");
}

TEST(FuseAttention, ScaledOperandsAndNoMask) {
  EXPECT_EQ(After("g (float[B,2,S,4] q, float[B,T,2,4] k, float[B,2,T,4] v)"
                  "=> (float[B,2,S,4] y) <float s = {2}> {"
                  "h = Div(q, s) t = Transpose <perm = [0, 2, 3, 1]> (k) u = Mul(t, s)"
                  "a = MatMul(h, u) p = Softmax <axis = 3> (a) y = MatMul(p, v) }"),
            "y_Transpose = Transpose(k)\ny = Attention(q, y_Transpose, v)\n");
}

TEST(FuseAttention, MaskByWhere) {
  const std::string after = After(
      "g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,4] v, bool[S,T] c)"
      "=> (float[B,2,S,4] y) <float s = {2}, float low = {-3.0e38}> {"
      "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, t) d = Div(a, s)"
      "w = Where(c, d, low) p = Softmax(w) y = MatMul(p, v) }");
  EXPECT_EQ(after, "y_Where = Where(c, y_const, low)\ny = Attention(q, k, v, y_Where)\n");
}

// x.masked_fill(c, -inf)
TEST(FuseAttention, MaskedFill) {
  EXPECT_EQ(After("g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,4] v, bool[B,1,1,T] c)"
                  "=> (float[B,2,S,4] y) <float s = {2}, float low = {-3.0e38}> {"
                  "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, t) d = Div(a, s)"
                  "w = Where(c, low, d) p = Softmax(w) y = MatMul(p, v) }"),
            "y_Where = Where(c, low, y_const)\ny = Attention(q, k, v, y_Where)\n");
}

TEST(FuseAttention, ZerosForRowsWithoutKeysAndKeysThroughThreeDims) {
  EXPECT_EQ(After("g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,4] v)"
                  "=> (float[B,2,S,4] y) <float s = {0.5}, float z = {0}> {"
                  "d = Shape(k) i = Shape <start = 2, end = 3> (k) e = Shape <start = 3> (k)"
                  "l = Shape <end = 2> (k) f = Concat <axis = 0> (l, e, i)"
                  "m = Constant <value_ints = [-1]> () g3 = Concat <axis = 0> (m, i, e)"
                  "k3 = Reshape(k, g3) t3 = Transpose <perm = [0, 2, 1]> (k3) t = Reshape(t3, f)"
                  "a = MatMul(q, t) b = Mul(a, s) p = Softmax(b) n = IsNaN(p)"
                  "w = Where(n, z, p) y = MatMul(w, v) }"),
            "y = Attention(q, k, v)\n");
}

TEST(FuseAttention, KeysWithLeadingDimsAdded) {
  EXPECT_EQ(After("g (float[1,2,S,4] q, float[T,2,4] k, float[1,2,T,4] v) => (float[1,2,S,4] y)"
                  "<int64[4] f = {1, 2, 4, -1}> {"
                  "t3 = Transpose <perm = [1, 2, 0]> (k) t = Reshape(t3, f)"
                  "a = MatMul(q, t) p = Softmax(a) y = MatMul(p, v) }"),
            "y_Transpose = Transpose(k)\ny_Reshape = Reshape(y_Transpose, y_const)\n"
            "y = Attention(q, y_Reshape, v)\n");
}

TEST(FuseAttention, RepeatedHeadsAreReadOnce) {
  EXPECT_EQ(After("g (float[B,4,S,4] q, float[B,2,T,4] k, float[B,2,T,4] v) => (float[B,4,S,4] y)"
                  "<int64[1] two = {2}, int64[5] e = {1, 1, 2, 1, 1}> {"
                  "l = Shape <end = 1> (k) h = Constant <value_ints = [4]> ()"
                  "i = Shape <start = 2> (k) r = Concat <axis = 0> (l, h, i)"
                  "k5 = Unsqueeze(k, two) kw = Expand(k5, e) kr = Reshape(kw, r)"
                  "v5 = Unsqueeze(v, two) vw = Expand(v5, e) vr = Reshape(vw, r)"
                  "y = Attention(q, kr, vr) }"),
            "y = Attention(q, k, v)\n");
}

TEST(FuseAttention, OnRows) {
  EXPECT_EQ(After("g (float[B,S,8] q, float[B,S,8] k, float[B,S,8] v) => (float[B,S,8] y)"
                  "<float s = {2}, int64[4] h = {0, 0, 2, 4}, int64[3] j = {0, 0, 8}> {"
                  "q1 = Reshape(q, h) q2 = Transpose <perm = [0, 2, 1, 3]> (q1)"
                  "k1 = Reshape(k, h) k2 = Transpose <perm = [0, 2, 3, 1]> (k1)"
                  "v1 = Reshape(v, h) v2 = Transpose <perm = [0, 2, 1, 3]> (v1)"
                  "a = MatMul(q2, k2) b = Div(a, s) p = Softmax(b) c = MatMul(p, v2)"
                  "d = Transpose <perm = [0, 2, 1, 3]> (c) y = Reshape(d, j) }"),
            "y = Attention(q, k, v)\n");
}

TEST(FuseAttention, LeavesAMaskThatBroadcastsOverKeys) {
  const std::string after = After(
      "g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,4] v, float[B,1,S,1] m)"
      "=> (float[B,2,S,4] y) {"
      "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, t)"
      "c = Add(a, m) p = Softmax(c) y = MatMul(p, v) }");
  EXPECT_EQ(after.find("Attention"), std::string::npos);
}

// A constant mask of three queries and four keys; rows are separated in the text.
std::string WithMask(const std::string& type, const std::string& mask) {
  return After(absl::StrCat(
      "g (float[1,2,3,4] q, float[1,2,4,4] k, float[1,2,4,5] v) => (float[1,2,3,5] y) <", type,
      " m = {", mask, "}> { y = Attention(q, k, v, m) }"));
}

TEST(FuseAttention, AMaskThatHidesWhatIsBehindIsCausal) {
  const std::string causal = "y = Attention(q, k, v)\n", masked = "y = Attention(q, k, v, m)\n";
  EXPECT_EQ(WithMask("bool[3,4]", "1,0,0,0, 1,1,0,0, 1,1,1,0"), causal);
  EXPECT_EQ(WithMask("bool[1,1,3,4]", "1,0,0,0, 1,1,0,0, 1,1,1,0"), causal);
  EXPECT_EQ(WithMask("float[3,4]", "0,-3e38,-3e38,-3e38, 0,0,-3e38,-3e38, 0,0,0,-3e38"), causal);
  // A key too many, one too few, a bias, and what a score could outweigh.
  EXPECT_EQ(WithMask("bool[3,4]", "1,0,0,0, 1,1,0,0, 1,1,1,1"), masked);
  EXPECT_EQ(WithMask("bool[3,4]", "1,0,0,0, 1,0,0,0, 1,1,1,0"), masked);
  EXPECT_EQ(WithMask("float[3,4]", "0,-3e38,-3e38,-3e38, 0,1,-3e38,-3e38, 0,0,0,-3e38"), masked);
  EXPECT_EQ(WithMask("float[3,4]", "0,-9,-9,-9, 0,0,-9,-9, 0,0,0,-9"), masked);
}

TEST(FuseAttention, AMaskThatIsNoConstantOrForOtherLengthsStays) {
  EXPECT_EQ(After("g (float[1,2,3,4] q, float[1,2,4,4] k, float[1,2,4,5] v, bool[3,4] m)"
                  "=> (float[1,2,3,5] y) { y = Attention(q, k, v, m) }"),
            "y = Attention(q, k, v, m)\n");
  EXPECT_EQ(After("g (float[1,2,3,4] q, float[1,2,4,4] k, float[1,2,4,5] v)"
                  "=> (float[1,2,3,5] y) <bool[3,3] m = {1,0,0, 1,1,0, 1,1,1}>"
                  "{ y = Attention(q, k, v, m) }"),
            "y = Attention(q, k, v, m)\n");
}

}  // namespace
}  // namespace onward
