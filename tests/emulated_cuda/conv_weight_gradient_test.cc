// The gradient of convolutions by their weights: through cuDNN, or in parts where padding is
// negative.
#include <algorithm>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct GradientCase {
  const char* attributes;
  Dims x, dy, dw;
};

const GradientCase kCases[] = {
    {"kernel_shape = [1]", {2, 3, 9}, {2, 4, 9}, {4, 3, 1}},
    {"kernel_shape = [3], pads = [1]", {2, 3, 9}, {2, 4, 9}, {4, 3, 3}},
    {"kernel_shape = [3, 3], pads = [1, 1]", {3, 4, 8, 7}, {3, 5, 8, 7}, {5, 4, 3, 3}},
    {"kernel_shape = [3, 2], strides = [2, 1]", {2, 4, 9, 7}, {2, 6, 4, 6}, {6, 4, 3, 2}},
    {"kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1]",
     {2, 4, 8, 8},
     {2, 6, 4, 4},
     {6, 4, 3, 3}},
    {"kernel_shape = [3, 3], dilations = [2, 3], pads = [2, 3]",
     {1, 2, 9, 9},
     {1, 3, 9, 9},
     {3, 2, 3, 3}},
    {"kernel_shape = [3, 3], pads = [1, 1], group = 2", {2, 4, 6, 6}, {2, 6, 6, 6}, {6, 2, 3, 3}},
    {"kernel_shape = [3, 3], pads = [1, 1], group = 4", {2, 4, 6, 6}, {2, 4, 6, 6}, {4, 1, 3, 3}},
    // One more zero at the end than at the begin.
    {"kernel_shape = [3, 3], strides = [2, 2]", {2, 3, 8, 8}, {2, 4, 4, 4}, {4, 3, 3, 3}},
    {"kernel_shape = [2, 2]", {2, 3, 5, 5}, {2, 4, 5, 5}, {4, 3, 2, 2}},
    // More at the begin, as causal convolutions have.
    {"kernel_shape = [3], dilations = [2], pads = [4]", {2, 3, 9}, {2, 4, 9}, {4, 3, 3}},
    // The windows leave the last row and column unread.
    {"kernel_shape = [2, 2], strides = [3, 3]", {2, 3, 6, 6}, {2, 4, 2, 2}, {4, 3, 2, 2}},
    {"kernel_shape = [2, 2], pads = [-1, -1]", {2, 3, 6, 6}, {2, 4, 4, 4}, {4, 3, 2, 2}},
};

TEST(EmulatedConvWeightGradient, IsTheCpus) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const GradientCase& one : kCases) {
      ExpectAsCpu(
          absl::StrCat("(", TextOf({dtype, one.dw}), " dw) { dw = onward.ConvWeightGradient <",
                       one.attributes, "> (a, b) }"),
          {Filled({dtype, one.x}, 1, false), Filled({dtype, one.dy}, 2, false)},
          100 * ToleranceOf(dtype));
    }
  }
}

TEST(EmulatedConvWeightGradient, TakesCudnnWhereItsWindowsFit) {
  Configure({});
  const auto takes_cudnn = [](const GradientCase& one) {
    auto model = testing::ModelFromText(absl::StrCat(
        "g (", TextOf({DType::kFloat32, one.x}), " x, ", TextOf({DType::kFloat32, one.dy}),
        " dy) => (", TextOf({DType::kFloat32, one.dw}), " dw) { dw = onward.ConvWeightGradient <",
        one.attributes, "> (x, dy) }"));
    EXPECT_TRUE(model.ok()) << model.status();
    SessionOptions options;
    options.provider = "cuda";
    auto session = Session::Create(*std::move(model), options);
    EXPECT_TRUE(session.ok()) << session.status();
    const std::vector<NodeExplanation> nodes = (*session)->Explain();
    return std::any_of(nodes.begin(), nodes.end(), [](const NodeExplanation& node) {
      return node.kernel == "conv_weight_gradient_cudnn";
    });
  };
  EXPECT_TRUE(takes_cudnn(kCases[4]));
  EXPECT_TRUE(takes_cudnn(kCases[8]));
  EXPECT_TRUE(takes_cudnn(kCases[10]));
  EXPECT_FALSE(takes_cudnn(kCases[12]));
}

}  // namespace
}  // namespace onward::emulated_cuda
