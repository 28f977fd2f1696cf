// Convolution and pooling of images, in every float.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

struct ConvCase {
  Dims x, w, y;
  const char* attributes;
};

TEST(EmulatedImages, ConvIsTheCpus) {
  const ConvCase cases[] = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, ""},
      {{2, 3, 7, 5}, {4, 3, 3, 3}, {2, 4, 7, 5}, "<pads = [1, 1, 1, 1]>"},
      {{1, 4, 9, 8}, {6, 2, 3, 2}, {1, 6, 4, 4}, "<strides = [2, 2], group = 2>"},
      {{1, 2, 11, 11}, {2, 1, 3, 3}, {1, 2, 7, 7}, "<dilations = [2, 2], group = 2>"},
  };
  for (const DType dtype : kFloats) {
    for (const ConvCase& one : cases) {
      for (const bool has_bias : {false, true}) {
        std::vector<Tensor> inputs = {Filled({dtype, one.x}, 1, false),
                                      Filled({dtype, one.w}, 2, false)};
        if (has_bias) inputs.push_back(Filled({dtype, {one.w[0]}}, 3, false));
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.y}), " y) { y = Conv ", one.attributes,
                                 has_bias ? " (a, b, c) }" : " (a, b) }"),
                    inputs, 20 * ToleranceOf(dtype));
      }
    }
  }
}

TEST(EmulatedImages, PoolsAreTheCpus) {
  const Operand cases[] = {{DType::kFloat32, {1, 1, 3, 3}}, {DType::kFloat32, {2, 3, 8, 6}}};
  for (const DType dtype : kFloats) {
    for (const Operand& one : cases) {
      const Tensor x = Filled({dtype, one.dims}, 1, false);
      const Dims &d = one.dims, windows = {d[0], d[1], d[2], d[3]}, whole = {d[0], d[1], 1, 1};
      for (const char* op : {"MaxPool", "AveragePool"}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, windows}), " y) { y = ", op,
                                 " <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a) }"),
                    {x}, 2 * ToleranceOf(dtype));
      }
      for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, whole}), " y) { y = ", op, " (a) }"), {x},
                    2 * ToleranceOf(dtype));
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
