#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, MergeChains)); }

TEST(MergeChains, Transposes) {
  EXPECT_EQ(After("g (float[2,3,4] x) => (float[4,2,3] y) {"
                  "a = Transpose <perm = [1, 0, 2]> (x) y = Transpose <perm = [2, 1, 0]> (a) }"),
            "y = Transpose(x)\n");
  EXPECT_EQ(After("g (float[2,3,4] x) => (float[2,3,4] y) {"
                  "a = Transpose <perm = [1, 2, 0]> (x) b = Transpose <perm = [2, 0, 1]> (a)"
                  "y = Neg(b) }"),
            "y = Neg(x)\n");
  EXPECT_EQ(
      After("g (float[2,3] x) => (float[2,3] y) {a = Transpose(x) b = Transpose(a) y = Neg(b)}"),
      "y = Neg(x)\n");
}

TEST(MergeChains, KeepsASharedTranspose) {
  EXPECT_EQ(After("g (float[2,3] x) => (float[3,2] z, float[2,3] y) {"
                  "a = Transpose(x) z = Neg(a) b = Transpose(a) y = Neg(b) }"),
            "a = Transpose(x)\nz = Neg(a)\ny = Neg(x)\n");
}

TEST(MergeChains, Reshapes) {
  EXPECT_EQ(After("g (float[2,6] x) => (float[4,3] y) <int64[1] s = {12}, int64[2] t = {4, -1}>"
                  "{ a = Reshape(x, s) y = Reshape(a, t) }"),
            "y = Reshape(x, t)\n");
  // 0 copies a dim of the value between.
  EXPECT_EQ(After("g (float[2,6] x) => (float[3,4] y) <int64[2] s = {3, 4}, int64[2] t = {0, 4}>"
                  "{ a = Reshape(x, s) y = Reshape(a, t) }"),
            "a = Reshape(x, s)\ny = Reshape(a, t)\n");
}

TEST(MergeChains, SqueezeOfUnsqueeze) {
  EXPECT_EQ(After("g (float[2,6] x) => (float[2,6] y) <int64[1] s = {1}, int64[1] t = {1}>"
                  "{ a = Unsqueeze(x, s) b = Squeeze(a, t) y = Neg(b) }"),
            "y = Neg(x)\n");
  EXPECT_EQ(After("g (float[1,6] x) => (float[6,1] y) <int64[1] s = {0}, int64[1] t = {1}>"
                  "{ a = Squeeze(x, s) b = Unsqueeze(a, t) y = Neg(b) }"),
            "a = Squeeze(x, s)\nb = Unsqueeze(a, t)\ny = Neg(b)\n");
}

TEST(MergeChains, CastsThroughAWiderType) {
  EXPECT_EQ(After("g (int32[3] x) => (float[3] y) { a = Cast <to = 7> (x) y = Cast <to = 1> (a) }"),
            "y = Cast(x)\n");
  EXPECT_EQ(After("g (bool[3] x) => (bool[3] y) { a = Cast <to = 1> (x) b = Cast <to = 9> (a) y = "
                  "Not(b) }"),
            "y = Not(x)\n");
  // float32 does not hold every int32.
  EXPECT_EQ(After("g (int32[3] x) => (int32[3] y) { a = Cast <to = 1> (x) b = Cast <to = 6> (a) y "
                  "= Neg(b) }"),
            "a = Cast(x)\nb = Cast(a)\ny = Neg(b)\n");
}

TEST(MergeChains, CastLikeIsACast) {
  EXPECT_EQ(After("g (int64[2] x, float[N] like) => (float[2] y) {y = CastLike(x, like)}"),
            "y = Cast(x)\n");
}

TEST(MergeChains, AxesOfOneElementGoBehindTransposes) {
  EXPECT_EQ(testing::Nodes(testing::Optimize(
                "g (float[2,3,4] x) => (float[] y) <int64[2] axes = {1, -1}> {"
                " u = Unsqueeze(x, axes) y = Transpose <perm = [0, 4, 3, 1, 2]> (u) }",
                {{"merge", MergeChains}, {"dead", EliminateDead}})),
            "y_Transpose = Transpose(x)\ny = Unsqueeze(y_Transpose, y_const)\n");
}

}  // namespace
}  // namespace onward
