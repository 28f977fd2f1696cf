#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

constexpr char kConv[] = "float[2,1,1,1] w = {0.5, 3}, float[2] b = {1, -1}";

std::string Conv(const std::string& body, const std::string& more = "") {
  return Nodes(
      Optimize(std::string("g (float[N,1,3,3] x, float[N,2,3,3] r) => (float[N,2,3,3] y) <") +
                   kConv + more + "> {" + body + "}",
               FuseConv));
}

TEST(FuseConv, Activations) {
  EXPECT_EQ(Conv("a = Conv(x, w, b) y = Relu(a)"), "y = onward.FusedConv(x, w, b)\n");
  EXPECT_EQ(Conv("a = Conv(x, w) y = HardSwish(a)"), "y = onward.FusedConv(x, w)\n");
  EXPECT_EQ(Conv("a = Conv(x, w) y = Clip(a, l, h)", ", float l = {0}, float h = {6}"),
            "y = onward.FusedConv(x, w)\n");
  EXPECT_EQ(Conv("a = Conv(x, w) y = Clip(a, l)", ", float l = {0.5}"),
            "y = onward.FusedConv(x, w)\n");
  EXPECT_EQ(Conv("a = Conv(x, w) y = LeakyRelu <alpha = 0.25> (a)"),
            "y = onward.FusedConv(x, w)\n");
  EXPECT_EQ(Conv("a = Conv(x, w) y = Swish(a)"), "y = onward.FusedConv(x, w)\n");
}

TEST(FuseConv, ResidualThenActivation) {
  EXPECT_EQ(Conv("a = Conv(x, w, b) s = Add(r, a) y = Relu(s)"),
            "y = onward.FusedConv(x, w, b, r)\n");
  EXPECT_EQ(Conv("a = Conv(x, w) s = Add(a, r) y = Relu(s)"), "y = onward.FusedConv(x, w, _, r)\n");
}

TEST(FuseConv, LeavesWhatIsSharedOrBroadcast) {
  EXPECT_EQ(Conv("a = Conv(x, w) c = Relu(a) y = Add(a, c)"),
            "a = Conv(x, w)\nc = Relu(a)\ny = Add(a, c)\n");
  EXPECT_EQ(Conv("a = Conv(x, w) y = Add(a, x)"), "a = Conv(x, w)\ny = Add(a, x)\n");
  // Nothing may follow an activation.
  EXPECT_EQ(Conv("a = Conv(x, w) c = Relu(a) y = Add(c, r)"),
            "c = onward.FusedConv(x, w)\ny = Add(c, r)\n");
}

std::string Expanded(const std::string& body) {
  return Nodes(
      Optimize("g (float[N,1,3,3] x, float[2,1,1,1] z) => (float[N,2,3,3] y) <"
               "float[2,1,1,1] v = {0.5, 3}, float[2] b = {1, -1},"
               "float[2,1,1,3] w = {1, 2, 3, 4, 5, 6}> {" +
                   body + "}",
               FusePointwiseDepthwise));
}

TEST(FusePointwiseDepthwise, AnExpandedImageThatOneConvolutionReads) {
  constexpr char kDepthwise[] = "y = Conv <group = 2, pads = [0, 1, 0, 1]> (e, w, b)";
  EXPECT_EQ(Expanded(absl::StrCat("e = Conv(x, v)", kDepthwise)),
            "y = onward.PointwiseDepthwiseConv(x, w, v, b)\n");
  EXPECT_EQ(Expanded(absl::StrCat("e = Conv(x, v, b)", kDepthwise)),
            "y = onward.PointwiseDepthwiseConv(x, w, v, b, b)\n");
  // The filters of the pointwise one are not constant.
  EXPECT_EQ(Expanded(absl::StrCat("e = Conv(x, z)", kDepthwise)),
            "e = Conv(x, z)\ny = Conv(e, w, b)\n");
  // Something else reads the image; the second convolution mixes channels.
  EXPECT_EQ(Expanded("e = Conv(x, v) d = Conv <group = 2, pads = [0, 1, 0, 1]> (e, w)"
                     "y = Add(d, e)"),
            "e = Conv(x, v)\nd = Conv(e, w)\ny = Add(d, e)\n");
  EXPECT_EQ(Expanded("e = Conv <pads = [0, 1, 0, 1]> (x, v) y = Conv <group = 2> (e, w)"),
            "e = Conv(x, v)\ny = Conv(e, w)\n");
}

TEST(FusePointwiseDepthwise, ImagesWithTheirChannelsLast) {
  const auto expanded = [](const std::string& type) {
    const std::string text =
        "g (TYPE[1,3,4,1] x) => (TYPE[1,3,4,2] y) <float[2,1,1,1] v = {0.5, 3}, "
        "float[2] b = {1, -1}, float[2,1,1,3] w = {1, 2, 3, 4, 5, 6}> {"
        "e = onward.ChannelsLastFusedConv <dtype = ID, activation = \"relu\"> (x, v) "
        "y = onward.ChannelsLastFusedConv <dtype = ID, group = 2, pads = [0, 1, 0, 1]> (e, w, b)}";
    const std::string id = type == "float" ? "1" : "16";
    return Nodes(Optimize(absl::StrReplaceAll(text, {{"TYPE", type}, {"ID", id}}),
                          FusePointwiseDepthwise, 1.0 / 32));
  };
  EXPECT_EQ(expanded("float"), "y = onward.ChannelsLastPointwiseDepthwiseConv(x, w, v, b)\n");
  EXPECT_EQ(expanded("bfloat16"),
            "e = onward.ChannelsLastFusedConv(x, v)\n"
            "y = onward.ChannelsLastFusedConv(e, w, b)\n");
}

std::string Product(const std::string& body) {
  return Nodes(
      Optimize("g (float[B,S,2] x, float[B,S,3] r, float[B,S,2] z) => (float[B,S,3] y) <"
               "float[2,3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}, float k = {0.125}> {" +
                   body + "}",
               FuseMatMul));
}

TEST(FuseMatMul, BiasResidualActivation) {
  EXPECT_EQ(Product("a = MatMul(x, w) y = Add(b, a)"), "y = onward.FusedMatMul(x, w, b)\n");
  EXPECT_EQ(Product("a = MatMul(x, w) c = Add(b, a) y = Gelu(c)"),
            "y = onward.FusedMatMul(x, w, b)\n");
  EXPECT_EQ(Product("a = MatMul(x, w) c = Add(b, a) d = Add(r, c) y = Relu(d)"),
            "y = onward.FusedMatMul(x, w, b, r)\n");
  EXPECT_EQ(Product("a = MatMul(x, w) d = Add(r, a) y = Add(b, d)"),
            "y = onward.FusedMatMul(x, w, b, r)\n");
}

TEST(FuseMatMul, Scales) {
  EXPECT_EQ(Product("c = Mul(k, x) a = MatMul(c, w) y = Div(a, k)"),
            "y = onward.FusedMatMul(x, w)\n");
  EXPECT_EQ(Product("a = MatMul(x, w) c = Add(a, b) y = Mul(c, k)"),
            "c = onward.FusedMatMul(x, w, b)\ny = Mul(c, k)\n");
}

absl::StatusOr<int> FuseAnyFloat(Graph& graph, const PassOptions& options, int& budget) {
  PassOptions narrow = options;
  narrow.fuses_narrow_floats = true;
  return FuseMatMul(graph, narrow, budget);
}

std::string ProductOfDoubles(const std::string& body) {
  return Nodes(
      Optimize("g (double[B,S,2] x, double[2,3] w) => (double[B,S,3] y) <double k = {0.125},"
               "double t = {0.1}> {" +
                   body + "}",
               FuseAnyFloat, 1e-14));
}

// An attribute of float32 does not hold 0.1 as a double does.
TEST(FuseMatMul, ScalesAndBoundsOfDoublesAreMergedIfExact) {
  EXPECT_EQ(ProductOfDoubles("c = Mul(k, x) y = MatMul(c, w)"), "y = onward.FusedMatMul(x, w)\n");
  EXPECT_EQ(ProductOfDoubles("c = Mul(t, x) y = MatMul(c, w)"),
            "c = Mul(t, x)\ny = MatMul(c, w)\n");
  EXPECT_EQ(ProductOfDoubles("c = MatMul(x, w) y = Mul(c, t)"),
            "c = MatMul(x, w)\ny = Mul(c, t)\n");
  EXPECT_EQ(ProductOfDoubles("c = MatMul(x, w) y = Clip(c, k)"), "y = onward.FusedMatMul(x, w)\n");
  EXPECT_EQ(ProductOfDoubles("c = MatMul(x, w) y = Clip(c, t)"),
            "c = MatMul(x, w)\ny = Clip(c, t)\n");
}

TEST(FuseMatMul, TransposesOfTheLastDims) {
  EXPECT_EQ(Nodes(Optimize("g (float[B,S,4] q, float[B,T,4] k) => (float[B,S,T] y) {"
                           "t = Transpose <perm = [0, 2, 1]> (k) y = MatMul(q, t) }",
                           FuseMatMul)),
            "y = onward.FusedMatMul(q, k)\n");
  // Another reader keeps the copy, not the product.
  EXPECT_EQ(Nodes(Optimize("g (float[B,S,4] q, float[B,T,4] k) => (float[B,S,T] y, float[B,4,T] t)"
                           "{t = Transpose <perm = [0, 2, 1]> (k) y = MatMul(q, t) }",
                           FuseMatMul)),
            "t = Transpose(k)\ny = onward.FusedMatMul(q, k)\n");
  // A heads permutation keeps its copy of rows.
  EXPECT_EQ(Nodes(Optimize("g (float[B,H,S,4] q, float[B,T,H,4] k) => (float[B,H,S,T] y) {"
                           "t = Transpose <perm = [0, 2, 3, 1]> (k) y = MatMul(q, t) }",
                           FuseMatMul)),
            "y_Transpose = Transpose(k)\ny = onward.FusedMatMul(q, y_Transpose)\n");
}

TEST(FuseMatMul, TransposesOfAMatrix) {
  const auto transposed = [](const std::string& body, const std::string& constants = "") {
    return Nodes(
        Optimize("g (float[5,3] x, float[5,4] z) => (float[4,3] y) <float[3,4] w = {1, 2, "
                 "3, 4, 5, 6, 7, 8, 9, 0, 1, 2}" +
                     constants + "> {" + body + "}",
                 FuseMatMul));
  };
  EXPECT_EQ(transposed("t = Transpose(x) p = MatMul(t, z) y = Transpose(p)"),
            "y = onward.FusedMatMul(z, x)\n");
  EXPECT_EQ(
      transposed("p = Gemm <transA = 1, alpha = 0.5> (x, z) y = Transpose <perm = [1, 0]>(p)"),
      "y = onward.FusedMatMul(z, x)\n");
  // Its kernels pack a constant that is the second operand.
  EXPECT_EQ(transposed("p = MatMul(v, w) y = Transpose(p)", ", float[3,3] v = {1,2,3,4,5,6,7,8,9}"),
            "p = MatMul(v, w)\ny = Transpose(p)\n");
  EXPECT_EQ(transposed("t = Transpose(x) p = MatMul(t, z) q = Transpose(p) y = Add(q, q)"),
            "q = onward.FusedMatMul(z, x)\ny = Add(q, q)\n");
}

TEST(FuseMatMul, GemmWithActivation) {
  EXPECT_EQ(Nodes(Optimize("g (float[N,2] x, float[3,2] w, float[3] b) => (float[N,3] y) {"
                           "a = Gemm <transB = 1, alpha = 0.5> (x, w, b) y = Relu(a) }",
                           FuseMatMul)),
            "y = onward.FusedMatMul(x, w, b)\n");
  EXPECT_EQ(Nodes(Optimize("g (float[N,2] x, float[3,2] w, float[3] b) => (float[N,3] y) {"
                           "a = Gemm <transB = 1, beta = 0.5> (x, w, b) y = Relu(a) }",
                           FuseMatMul)),
            "a = Gemm(x, w, b)\ny = Relu(a)\n");
}

TEST(FuseMatMul, FlattenedRows) {
  EXPECT_EQ(Nodes(Optimize("g (float[B,S,2] x, float[B,S,3] r) => (float[B,S,3] y)"
                           "<float[2,3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3},"
                           "int64[2] f = {-1, 2}, int64[1] n = {3}> {"
                           "l = Shape <end = 2> (x) u = Concat <axis = 0> (l, n)"
                           "a = Reshape(x, f) p = Gemm(a, w, b) c = Reshape(p, u)"
                           "d = Gelu(c) y = Add(d, r) }",
                           FuseMatMul)),
            "d = onward.FusedMatMul(x, w, b)\ny = Add(d, r)\n");
}

TEST(FuseAddNormalization, WithAndWithoutTheSum) {
  const std::string head =
      "g (float[B,4] x, float[B,4] z) => (float[B,4] y) <float[4] s = {1, 2, 3, 4},"
      "float[4] b = {4, 3, 2, 1}> { a = Add(x, z) ";
  EXPECT_EQ(Nodes(Optimize(head + "y = LayerNormalization(a, s, b) }", FuseAddNormalization)),
            "y = onward.AddLayerNormalization(x, z, s, b)\n");
  EXPECT_EQ(
      Nodes(Optimize(head + "n = RMSNormalization(a, s) y = Add(a, n) }", FuseAddNormalization)),
      "n, a = onward.AddRMSNormalization(x, z, s)\ny = Add(a, n)\n");
}

TEST(FuseAddNormalization, LeavesABroadcastSum) {
  EXPECT_EQ(
      Nodes(Optimize("g (float[B,4] x, float[4] z) => (float[B,4] y) <float[4] s = {1, 2, 3, 4}>"
                     "{ a = Add(x, z) y = LayerNormalization(a, s) }",
                     FuseAddNormalization)),
      "a = Add(x, z)\ny = LayerNormalization(a, s)\n");
}

}  // namespace
}  // namespace onward
