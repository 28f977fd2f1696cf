// AveragePool on the device, with windows that cuDNN has no numbers for too.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

TEST(EmulatedAveragePool, IsTheCpus) {
  const struct {
    Dims x, y;
    const char* attributes;
  } cases[] = {
      {{1, 2, 9}, {1, 2, 4}, "kernel_shape = [3], strides = [2]"},
      {{1, 2, 8}, {1, 2, 5}, "kernel_shape = [3], strides = [2], pads = [2, 2]"},
      {{2, 3, 8, 8}, {2, 3, 4, 4}, "kernel_shape = [2, 2], strides = [2, 2]"},
      {{2, 3, 7, 8}, {2, 3, 3, 4}, "kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1"},
      {{1, 2, 6, 6}, {1, 2, 7, 5}, "kernel_shape = [2, 3], pads = [1, 0, 1, 1]"},
      {{1, 2, 6, 7},
       {1, 2, 4, 4},
       "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 2], ceil_mode = 1"},
      {{1, 1, 7, 7}, {1, 1, 3, 3}, "kernel_shape = [3, 3], dilations = [2, 2]"},
      {{1, 2, 4, 5, 6}, {1, 2, 3, 4, 5}, "kernel_shape = [2, 2, 2]"},
      {{1, 1, 5, 5}, {1, 1, 5, 5}, "kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\""},
      {{1, 1, 5, 5},
       {1, 1, 3, 3},
       "kernel_shape = [2, 2], strides = [2, 2], auto_pad = \"SAME_LOWER\""},
      {{0, 2, 5}, {0, 2, 4}, "kernel_shape = [2]"},
  };
  for (const DType dtype : kFloats) {
    for (const auto& one : cases) {
      for (const int counts_padding : {0, 1}) {
        for (const bool special : {false, true}) {
          ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.y}),
                                   " y) { y = AveragePool <count_include_pad = ", counts_padding,
                                   ", ", one.attributes, "> (a) }"),
                      {Filled({dtype, one.x}, 1, special)}, 2 * ToleranceOf(dtype));
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
