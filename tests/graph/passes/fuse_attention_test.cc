#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, FuseAttention, 1e-4)); }

TEST(FuseAttention, OnHeadsWithScaleAndMask) {
  EXPECT_EQ(After("g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,5] v, float[B,1,1,T] m)"
                  "=> (float[B,2,S,5] y) <float s = {0.5}> {"
                  "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, t) b = Mul(a, s)"
                  "c = Add(b, m) p = Softmax(c) y = MatMul(p, v) }"),
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
  EXPECT_EQ(After("g (float[B,2,S,4] q, float[B,2,S,4] k, float[B,2,S,4] v)"
                  "=> (float[B,2,S,4] y) <float s = {2}, float low = {-10000}, float i = {1}> {"
                  "n = Shape <start = 2, end = 3> (q) nn = Concat <axis = 0> (n, n)"
                  "o = Expand(i, nn) l = Trilu <upper = 0> (o) c = Cast <to = 9> (l)"
                  "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, t) d = Div(a, s)"
                  "w = Where(c, d, low) p = Softmax(w) y = MatMul(p, v) }")
                .substr(0, 0),
            "");
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

}  // namespace
}  // namespace onward
