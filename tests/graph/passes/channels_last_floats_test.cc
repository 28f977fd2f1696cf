#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;

absl::StatusOr<int> WithTiles(Graph& graph, const PassOptions&, int& budget) {
  PassOptions options;
  options.narrow_products = true;
  return PutFloatsChannelsLast(graph, options, budget);
}

// Values of few bits, which bfloat16 has.
std::string Last(const std::string& text) {
  return Nodes(testing::Optimize(text, WithTiles, 1.0 / 32));
}

constexpr char kHead[] =
    "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}, "
    "float[2] b = {1, 2}> {";

TEST(PutFloatsChannelsLast, BetweenConvolutions) {
  EXPECT_EQ(Last(std::string(kHead) + "a = Conv(x, w, b) c = Relu(a) d = Conv(a, w) "
                                      "y = Add(c, d)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w, b)\n"
            "a = onward.ToChannelsFirst(a_ChannelsLastFusedConv)\n"
            "c = Relu(a)\n"
            "d_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, w)\n"
            "d = onward.ToChannelsFirst(d_ChannelsLastFusedConv)\n"
            "y = Add(c, d)\n");
}

// A residual comes last, too, whoever is rewritten first.
TEST(PutFloatsChannelsLast, Residuals) {
  EXPECT_EQ(Last(std::string(kHead) + "a = Conv(x, w, b) c = Conv(x, w) "
                                      "d = onward.FusedConv(a, w, b, c) y = Identity(d)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w, b)\n"
            "c_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "d_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, w, b, "
            "c_ChannelsLastFusedConv)\n"
            "d = onward.ToChannelsFirst(d_ChannelsLastFusedConv)\n"
            "y = Identity(d)\n");
  EXPECT_EQ(Last(std::string(kHead) + "a = Conv(x, w, b) y = onward.FusedConv(a, w, b, x)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w, b)\n"
            "y_ToChannelsLast = onward.ToChannelsLast(x)\n"
            "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, w, b, "
            "y_ToChannelsLast)\n"
            "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
}

TEST(PutFloatsChannelsLast, ThroughPoolsFactorsAndConcatenations) {
  EXPECT_EQ(Last("g (float[1,2,4,4] x, float[1,2,1,1] s) => (float[1,4,1,1] y) "
                 "<float[2,2,1,1] w = {1, 2, 3, 4}> {"
                 "a = Conv(x, w) b = Conv(x, w) c = Mul(s, b) "
                 "d = Concat <axis = 1> (a, c) e = MaxPool <kernel_shape = [2, 2]> (d) "
                 "y = GlobalAveragePool(e)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "b_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "c_ChannelsLastScale = onward.ChannelsLastScale(b_ChannelsLastFusedConv, s)\n"
            "d_Concat = Concat(a_ChannelsLastFusedConv, c_ChannelsLastScale)\n"
            "e_ChannelsLastMaxPool = onward.ChannelsLastMaxPool(d_Concat)\n"
            "y = onward.ChannelsLastGlobalAveragePool(e_ChannelsLastMaxPool)\n");
  EXPECT_EQ(Last("g (float[1,2,4,4] x) => (float[1,2] y) <float[2,2,1,1] w = {1, 2, 3, 4}, "
                 "int64[2] axes = {-1, -2}> {"
                 "a = Conv(x, w) y = ReduceMean <keepdims = 0> (a, axes)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "y_ChannelsLastGlobalAveragePool = "
            "onward.ChannelsLastGlobalAveragePool(a_ChannelsLastFusedConv)\n"
            "y = Squeeze(y_ChannelsLastGlobalAveragePool, axes_1)\n");
}

TEST(PutFloatsChannelsLast, ThroughSumsAndSplits) {
  EXPECT_EQ(Last(std::string(kHead) + "a = Conv(x, w) p, q = Split <axis = 1, num_outputs = 2> (a) "
                                      "d = Concat <axis = 1> (q, p) e = Add(d, a) "
                                      "y = Conv(e, w)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "p_Split, p_Split_1 = Split(a_ChannelsLastFusedConv)\n"
            "d_Concat = Concat(p_Split_1, p_Split)\n"
            "e_Add = Add(d_Concat, a_ChannelsLastFusedConv)\n"
            "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(e_Add, w)\n"
            "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
}

// Numbers for all pixels of a channel, or of the image.
TEST(PutFloatsChannelsLast, ThroughFactorsAndTerms) {
  const std::string head =
      "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}, "
      "float[1] two = {2}, float[2,1,1] each = {3, 4}, float[1,2,1,1] four = {4, 5}> "
      "{a = Conv(x, w) ";
  EXPECT_EQ(Last(head + "b = Mul(a, two) c = Add(each, b) y = Conv(c, w)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "c_ChannelsLastScale = "
            "onward.ChannelsLastScale(a_ChannelsLastFusedConv, factors, terms)\n"
            "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(c_ChannelsLastScale, w)\n"
            "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
  // A product that no convolution reads stays float32.
  EXPECT_EQ(Last("g (float[1,2,4,4] x) => (float[1,2,4,4] y, float[1,2,4,4] z) "
                 "<float[2,2,1,1] w = {1, 2, 3, 4}, float[1] two = {2}> {"
                 "a = Conv(x, w) y = Conv(a, w) z = Mul(a, two)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "a = onward.ToChannelsFirst(a_ChannelsLastFusedConv)\n"
            "z = Mul(a, two)\n"
            "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, w)\n"
            "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
  for (const std::string term : {"two", "four"}) {
    EXPECT_EQ(Last(head + "b = Add(a, " + term + ") y = Conv(b, w)}"),
              "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
              "b_ChannelsLastScale = "
              "onward.ChannelsLastScale(a_ChannelsLastFusedConv, ones, terms)\n"
              "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(b_ChannelsLastScale, w)\n"
              "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
  }
}

TEST(PutFloatsChannelsLast, ThroughMeansOfWindows) {
  EXPECT_EQ(Last("g (float[1,2,4,4] x) => (float[1,2,2,3] y) <float[2,2,1,1] w = {1, 2, 3, 4}> {"
                 "a = Conv(x, w) b = AveragePool <kernel_shape = [2, 2], strides = [2, 1]> (a) "
                 "y = Conv(b, w)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "b_ChannelsLastFusedConv = "
            "onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, weights)\n"
            "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(b_ChannelsLastFusedConv, w)\n"
            "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
  // Windows with padding that does not count have divisors of their own.
  EXPECT_EQ(Last("g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}> {"
                 "a = Conv(x, w) b = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a) "
                 "y = Conv(b, w)}"),
            "a = Conv(x, w)\nb = AveragePool(a)\ny = Conv(b, w)\n");
}

TEST(PutFloatsChannelsLast, ThroughResizedImages) {
  for (const std::string mode : {"nearest", "linear"}) {
    EXPECT_EQ(Last("g (float[1,2,4,4] x) => (float[1,2,8,12] y) <float[2,2,1,1] w = {1, 2, 3, 4}, "
                   "float[4] scales = {1, 1, 2, 3}> {"
                   "a = onward.FusedConv <activation = \"sigmoid\"> (x, w) b = Resize <mode = \"" +
                   mode + "\"> (a, , scales) y = Conv(b, w)}"),
              "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
              "b_Resize = Resize(a_ChannelsLastFusedConv, _, scales_1)\n"
              "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(b_Resize, w)\n"
              "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
  }
  EXPECT_EQ(Last("g (float[1,2,4,4] x) => (float[1,2,7,5] y) <float[2,2,1,1] w = {1, 2, 3, 4}, "
                 "int64[4] sizes = {1, 2, 7, 5}> {"
                 "a = Conv(x, w) b = Resize(a, , , sizes) y = Conv(b, w)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "b_Resize = Resize(a_ChannelsLastFusedConv, _, _, sizes_1)\n"
            "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(b_Resize, w)\n"
            "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
}

// Each pixel becomes a window of pixels.
TEST(PutFloatsChannelsLast, TransposedConvolutionsWithoutOverlap) {
  const std::string transposed =
      "g (float[n,2,4,4] x) => (float[n,3,8,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}, "
      "float[2,3,2,1] v = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4}, float[3] b = {1, 2, 3}> {"
      "a = Conv(x, w) y = ConvTranspose <strides = [";
  EXPECT_EQ(Last(transposed + "2, 1]> (a, v, b)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, w)\n"
            "y_ChannelsLastFusedConv = "
            "onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, filters, bias)\n"
            "y_Reshape = Reshape(y_ChannelsLastFusedConv, shape)\n"
            "y_Transpose = Transpose(y_Reshape)\n"
            "y_Reshape_1 = Reshape(y_Transpose, shape_1)\n"
            "y = onward.ToChannelsFirst(y_Reshape_1)\n");
  EXPECT_EQ(Last(transposed + "2, 1], output_padding = [0, 0], dilations = [1, 1], pads = [1, 0, "
                              "1, 0], output_shape = [8, 4]> (a, v, b)}"),
            "a = Conv(x, w)\ny = ConvTranspose(a, v, b)\n");
}

TEST(PutFloatsChannelsLast, TransposedConvolutionsOfAnySize) {
  EXPECT_EQ(Last("g (float[1,2,h,w] x) => (float[1,2,h2,w2] y) <float[2,2,1,1] v = {1, 2, 3, 4}, "
                 "float[2,2,2,2] u = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}> {"
                 "a = Conv(x, v) y = ConvTranspose <strides = [2, 2]> (a, u)}"),
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(x, v)\n"
            "y_ChannelsLastFusedConv = "
            "onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, filters)\n"
            "y_Reshape = Reshape(y_ChannelsLastFusedConv, shape)\n"
            "y_Transpose = Transpose(y_Reshape)\n"
            "y_Shape = Shape(a_ChannelsLastFusedConv)\n"
            "y_Mul = Mul(y_Shape, shape_1)\n"
            "y_Add = Add(y_Mul, shape_2)\n"
            "y_Reshape_1 = Reshape(y_Transpose, y_Add)\n"
            "y = onward.ToChannelsFirst(y_Reshape_1)\n");
}

TEST(PutFloatsChannelsLast, LeavesWhatIsAlone) {
  const auto is_left = [](const std::string& text) {
    return Last(text).find("ChannelsLast") == std::string::npos;
  };
  EXPECT_TRUE(is_left(std::string(kHead) + "a = Conv(x, w, b) y = Sigmoid(a)}"));
  // Kernels want constant filters.
  EXPECT_TRUE(
      is_left("g (float[1,2,4,4] x, float[2,2,1,1] w) => (float[1,2,4,4] y) {"
              "a = Conv(x, w) y = Conv(a, w)}"));
  // One pixel has no layout.
  EXPECT_TRUE(
      is_left("g (float[1,2,1,1] x) => (float[1,2,1,1] y) "
              "<float[2,2,1,1] w = {1, 2, 3, 4}> {a = Conv(x, w) y = Conv(a, w)}"));
  // Two filters leave most of a vector of float32 empty.
  const Graph graph = testing::Optimize(std::string(kHead) + "a = Conv(x, w, b) y = Conv(a, w)}",
                                        PutFloatsChannelsLast);
  EXPECT_EQ(Nodes(graph), "a = Conv(x, w, b)\ny = Conv(a, w)\n");
}

// Without products of bfloat16 images stay float32.
TEST(PutFloatsChannelsLast, InFloat32) {
  const std::string text =
      "g (float[1,1,4,4] x, float[1,16,4,4] z) => (float[1,16,2,2] y) <float[16,1,1,1] w = {1, 2, "
      "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {"
      "a = Conv(x, w) b = onward.FusedConv <group = 16> (a, w, , z) "
      "c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b) y = Conv <group = 16> (c, w)}";
  const Graph graph = testing::Optimize(text, PutFloatsChannelsLast);
  EXPECT_EQ(Nodes(graph),
            "a_ToChannelsLast = onward.ToChannelsLast(x)\n"
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(a_ToChannelsLast, w)\n"
            "b_ToChannelsLast = onward.ToChannelsLast(z)\n"
            "b_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(a_ChannelsLastFusedConv, w, _, "
            "b_ToChannelsLast)\n"
            "c_ChannelsLastMaxPool = onward.ChannelsLastMaxPool(b_ChannelsLastFusedConv)\n"
            "y_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(c_ChannelsLastMaxPool, w)\n"
            "y = onward.ToChannelsFirst(y_ChannelsLastFusedConv)\n");
  for (const NodeId id : graph.node_ids()) {
    for (const ValueId output : graph.node(id).outputs)
      EXPECT_EQ(graph.type(output).dtype, DType::kFloat32);
  }
}

// Layers between convolutions that an exporter computes with channels last.
TEST(PutFloatsChannelsLast, TurnsOfTheModelsOwn) {
  const std::string text =
      "g (float[1,1,4,4] x) => (float[1,16,4,4] y, float[1,4,4,16] z) <float[16,1,1,1] w = {1, 2, "
      "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {"
      "a = Conv(x, w) b = Transpose <perm = [0, 2, 3, 1]> (a) c = Sigmoid(b) "
      "d = Transpose <perm = [0, 3, 1, 2]> (c) y = Conv <group = 16> (d, w) "
      "z = Transpose <perm = [0, 2, 3, 1]> (y)}";
  EXPECT_EQ(Nodes(testing::Optimize(text, PutFloatsChannelsLast)),
            "a_ToChannelsLast = onward.ToChannelsLast(x)\n"
            "a_ChannelsLastFusedConv = onward.ChannelsLastFusedConv(a_ToChannelsLast, w)\n"
            "c = Sigmoid(a_ChannelsLastFusedConv)\n"
            "z = onward.ChannelsLastFusedConv(c, w)\n"
            "y = onward.ToChannelsFirst(z)\n");
}

}  // namespace
}  // namespace onward
