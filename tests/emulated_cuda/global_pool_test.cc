// GlobalAveragePool and GlobalMaxPool on the device: images by cuDNN, others as reductions.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

// Planes that a warp sums, and those that a block does.
TEST(EmulatedGlobalPool, IsTheCpus) {
  const Dims shapes[] = {{2, 3, 5},        {1, 2, 9, 40}, {1, 2, 3000}, {2, 3, 4, 5, 6},
                         {1, 1, 7, 9, 60}, {0, 3, 4},     {3, 1, 1},    {2, 2}};
  for (const DType dtype : kFloats) {
    for (const Dims& x : shapes) {
      Dims y(x.size(), 1);
      y[0] = x[0], y[1] = x[1];
      for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
        for (const bool special : {false, true}) {
          ExpectAsCpu(absl::StrCat("(", TextOf({dtype, y}), " y) { y = ", op, "(a) }"),
                      {Filled({dtype, x}, 1, special)}, 4 * ToleranceOf(dtype));
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
