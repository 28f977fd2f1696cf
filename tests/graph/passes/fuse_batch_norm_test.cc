#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, FuseBatchNorm)); }

constexpr char kParameters[] =
    "float[2] s = {1.5, -2}, float[2] b = {0.25, 1}, float[2] m = {0.5, -1}, float[2] v = {0.3, 2}";

TEST(FuseBatchNorm, IntoConvWithAndWithoutBias) {
  EXPECT_EQ(After(std::string("g (float[N,1,3,3] x) => (float[N,2,3,3] y) <"
                              "float[2,1,1,1] w = {0.5, 3},") +
                  kParameters + "> { a = Conv(x, w) y = BatchNormalization(a, s, b, m, v) }"),
            "y = Conv(x, w_scaled, a_bias)\n");
  EXPECT_EQ(After(std::string("g (float[N,1,3,3] x) => (float[N,2,3,3] y) <float[2] c = {1, 2},"
                              "float[2,1,1,1] w = {0.5, 3},") +
                  kParameters + "> { a = Conv(x, w, c) y = BatchNormalization(a, s, b, m, v) }"),
            "y = Conv(x, w_scaled, a_bias)\n");
}

TEST(FuseBatchNorm, IntoGroupedConvTranspose) {
  EXPECT_EQ(
      After(std::string("g (float[N,2,3] x) => (float[N,2,L] y) <"
                        "float[2,1,2] w = {0.5, 3, 1, -1},") +
            kParameters +
            "> { a = ConvTranspose <group = 2> (x, w) y = BatchNormalization(a, s, b, m, v) }"),
      "y = ConvTranspose(x, w_scaled, a_bias)\n");
}

TEST(FuseBatchNorm, IntoGemm) {
  EXPECT_EQ(After(std::string("g (float[N,2] x) => (float[N,2] y) <float[2] c = {1, 2},"
                              "float[2,2] w = {0.5, 3, 1, -1},") +
                  kParameters +
                  "> { a = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (x, w, c)"
                  "y = BatchNormalization(a, s, b, m, v) }"),
            "y = Gemm(x, w_scaled, a_bias)\n");
}

TEST(FuseBatchNorm, IntoMatMulWithASumBehind) {
  const std::string weight = "float[2,2] w = {0.5, 3, 1, -1}, float[2] f = {2, 4},";
  EXPECT_EQ(After("g (float[N,2] x) => (float[N,2] y) <" + weight + kParameters +
                  "> { a = MatMul(x, w) y = BatchNormalization(a, s, b, m, v) }"),
            "y_MatMul = MatMul(x, w_scaled)\ny = Add(y_MatMul, y_const)\n");
  EXPECT_EQ(After("g (float[N,3,2] x) => (float[N,3,2] y) <" + weight + kParameters +
                  "> { a = MatMul(x, w) y = Mul(f, a) }"),
            "y = MatMul(x, w_scaled)\n");
}

TEST(FuseBatchNorm, NotIntoMatMulOfOtherChannels) {
  const std::string weight = "float[2,2] w = {0.5, 3, 1, -1}, float[1] f = {2},";
  for (const char* nodes : {"y = BatchNormalization(a, s, b, m, v)", "y = Mul(a, f)",
                            "d = Add(w, w) e = Mul(a, s) y = Add(e, d)"}) {
    const std::string after = After("g (float[N,2,2] x) => (float[N,2,2] y) <" + weight +
                                    kParameters + "> { a = MatMul(x, w) " + nodes + " }");
    EXPECT_EQ(after.find("scaled"), std::string::npos) << after;
  }
}

TEST(FuseBatchNorm, ScaleAndShiftPerChannel) {
  EXPECT_EQ(After("g (float[N,1,3,3] x) => (float[N,2,3,3] y) <float[2,1,1,1] w = {0.5, 3},"
                  "float[2,1,1] f = {2, 4}, float[1,2,1,1] t = {1, -1}> {"
                  "a = Conv(x, w) b = Mul(f, a) y = Sub(b, t) }"),
            "y = Conv(x, w_scaled, b_bias)\n");
}

TEST(FuseBatchNorm, LeavesWhatIsNotPerChannelOrNotAlone) {
  const char* per_column =
      "g (float[N,1,3,3] x) => (float[N,2,3,3] y) <float[2,1,1,1] w = {0.5, 3},"
      "float[3] f = {2, 4, 1}> { a = Conv(x, w) y = Mul(a, f) }";
  EXPECT_EQ(After(per_column), "a = Conv(x, w)\ny = Mul(a, f)\n");
  const char* shared =
      "g (float[N,1,3,3] x) => (float[N,2,3,3] y, float[N,2,3,3] a) <float[2,1,1,1] w = {0.5, 3},"
      "float f = {2}> { a = Conv(x, w) y = Mul(a, f) }";
  EXPECT_EQ(After(shared), "a = Conv(x, w)\ny = Mul(a, f)\n");
}

TEST(FuseGemm, MatMulAndBias) {
  EXPECT_EQ(Nodes(Optimize("g (float[N,2] x) => (float[N,3] y) <float[2,3] w = {1,2,3,4,5,6},"
                           "float[3] b = {1, 2, 3}> { a = MatMul(x, w) y = Add(b, a) }",
                           FuseGemm)),
            "y = Gemm(x, w, b)\n");
  // Of rank 3, or with a bias that adds rows.
  EXPECT_EQ(Nodes(Optimize("g (float[1,2,2] x) => (float[1,2,3] y) <float[2,3] w = {1,2,3,4,5,6},"
                           "float[3] b = {1, 2, 3}> { a = MatMul(x, w) y = Add(b, a) }",
                           FuseGemm)),
            "a = MatMul(x, w)\ny = Add(b, a)\n");
  EXPECT_EQ(Nodes(Optimize("g (float[1,2] x) => (float[2,3] y) <float[2,3] w = {1,2,3,4,5,6},"
                           "float[2,1] b = {1, 2}> { a = MatMul(x, w) y = Add(b, a) }",
                           FuseGemm)),
            "a = MatMul(x, w)\ny = Add(b, a)\n");
}

TEST(FuseGemm, Transposes) {
  EXPECT_EQ(Nodes(Optimize("g (float[2,N] x, float[3,2] w, float[3] b) => (float[N,3] y) {"
                           "t = Transpose(x) u = Transpose(w) y = Gemm(t, u, b) }",
                           FuseGemm)),
            "y = Gemm(x, w, b)\n");
}

}  // namespace
}  // namespace onward
