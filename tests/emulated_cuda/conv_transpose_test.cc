// ConvTranspose with windows side by side and with any others, in every float.
#include "absl/strings/match.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

struct TransposeCase {
  Dims x, w, y;
  const char* attributes;
};

constexpr char kProduct[] = "conv_transpose_cublaslt", kCudnn[] = "conv_transpose_cudnn";

std::string GraphOf(DType dtype, const TransposeCase& one, bool has_bias) {
  return absl::StrCat("(", TextOf({dtype, one.y}), " y) { y = ConvTranspose ", one.attributes,
                      has_bias ? " (a, b, c) }" : " (a, b) }");
}

std::string KernelOf(DType dtype, const TransposeCase& one) {
  const std::string text =
      absl::StrCat("g (", TextOf({dtype, one.x}), " a, ", TextOf({dtype, one.w}), " b) => ",
                   GraphOf(dtype, one, false));
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  if (!model.ok()) return std::string(model.status().message());
  SessionOptions options;
  options.provider = "cuda";
  const auto session = Session::Create(*std::move(model), options);
  if (!session.ok()) return std::string(session.status().message());
  for (const NodeExplanation& node : (*session)->Explain())
    if (absl::StartsWith(node.node, "[ConvTranspose")) return node.kernel;
  return "none";
}

void ExpectConvTranspose(const char* kernel, absl::Span<const TransposeCase> cases) {
  for (const DType dtype : kFloats) {
    for (const TransposeCase& one : cases) {
      EXPECT_EQ(KernelOf(dtype, one), kernel) << one.attributes;
      for (const bool has_bias : {false, true}) {
        std::vector<Tensor> inputs = {Filled({dtype, one.x}, 1, false),
                                      Filled({dtype, one.w}, 2, false)};
        if (has_bias) inputs.push_back(Filled({dtype, {one.y[1]}}, 3, false));
        ExpectAsCpu(GraphOf(dtype, one, has_bias), inputs, 20 * ToleranceOf(dtype));
      }
    }
  }
}

TEST(EmulatedConvTranspose, WindowsSideBySideAreTheCpus) {
  const TransposeCase cases[] = {
      {{2, 3, 4, 5}, {3, 4, 2, 2}, {2, 4, 8, 10}, "<strides = [2, 2]>"},
      {{1, 5, 3, 2}, {5, 2, 3, 4}, {1, 2, 9, 8}, "<strides = [3, 4]>"},
      {{3, 2, 2, 3}, {2, 3, 1, 6}, {3, 3, 2, 18}, "<strides = [1, 6]>"},
      {{2, 2, 3, 3}, {2, 3, 2, 3}, {2, 3, 6, 9}, "<strides = [2, 3], auto_pad = \"VALID\">"},
      {{2, 3, 2, 3}, {3, 2, 2, 2}, {2, 2, 4, 6}, "<strides = [2, 2], auto_pad = \"SAME_UPPER\">"},
      {{2, 4, 3, 3}, {4, 2, 1, 1}, {2, 2, 3, 3}, "<kernel_shape = [1, 1]>"},
      {{2, 3, 7}, {3, 2, 2}, {2, 2, 14}, "<strides = [2], pads = [0, 0]>"},
      {{1, 3, 4}, {3, 1, 5}, {1, 1, 20}, "<strides = [5], dilations = [1]>"},
      {{0, 3, 4}, {3, 1, 2}, {0, 1, 8}, "<strides = [2]>"},
  };
  ExpectConvTranspose(kProduct, cases);
}

TEST(EmulatedConvTranspose, AnyWindowsAreTheCpus) {
  const TransposeCase cases[] = {
      {{2, 3, 4, 5}, {3, 4, 3, 3}, {2, 4, 6, 7}, ""},
      {{1, 2, 4, 3},
       {2, 2, 3, 2},
       {1, 2, 8, 6},
       "<strides = [2, 2], pads = [0, 1, 1, 0], "
       "output_padding = [0, 1]>"},
      {{2, 4, 3, 3},
       {4, 3, 3, 3},
       {2, 6, 6, 6},
       "<group = 2, strides = [2, 2], "
       "pads = [1, 1, 1, 1], output_padding = [1, 1]>"},
      {{1, 4, 3, 4}, {4, 1, 2, 2}, {1, 4, 6, 8}, "<group = 4, strides = [2, 2]>"},
      {{1, 2, 4, 4}, {2, 3, 3, 3}, {1, 3, 14, 11}, "<dilations = [2, 2], strides = [3, 2]>"},
      {{1, 2, 4, 5}, {2, 1, 3, 4}, {1, 1, 11, 18}, "<dilations = [2, 3], strides = [2, 2]>"},
      {{1, 2, 3, 3},
       {2, 2, 4, 5},
       {1, 2, 9, 11},
       "<dilations = [2, 4], strides = [4, 6], "
       "pads = [2, 7, 4, 11]>"},
      {{1, 2, 4, 4}, {2, 3, 3, 3}, {1, 3, 8, 8}, "<strides = [2, 2], auto_pad = \"SAME_LOWER\">"},
      {{1, 2, 3, 3}, {2, 2, 3, 3}, {1, 2, 10, 8}, "<strides = [3, 2], output_shape = [10, 8]>"},
      {{1, 2, 3, 3}, {2, 2, 2, 2}, {1, 2, 8, 6}, "<strides = [2, 2], output_shape = [8, 6]>"},
      {{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 6, 7}, "<strides = [4, 5]>"},
      {{2, 3, 7}, {3, 2, 4}, {2, 2, 15}, "<strides = [2], pads = [1, 0]>"},
      {{2, 4, 5}, {4, 2, 3}, {2, 4, 11}, "<group = 2, dilations = [3], pads = [0, 0]>"},
      {{1, 3, 4}, {3, 1, 2}, {1, 1, 9}, "<strides = [2], output_padding = [1]>"},
      {{0, 3, 4}, {3, 1, 3}, {0, 1, 6}, ""},
      {{1, 0, 3}, {0, 2, 3}, {1, 2, 5}, ""},
  };
  ExpectConvTranspose(kCudnn, cases);
}

}  // namespace
}  // namespace onward::emulated_cuda
