// LRN of float32 on every instruction set against double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using testing::ExpectFastKernels;
using testing::RandomFloats;

struct Window {
  int64_t size;
  double alpha, beta, bias;
};

Tensor Normalized(const Tensor& x, int64_t channels, int64_t inner, const Window& w) {
  Tensor y(DType::kFloat32, x.dims());
  const int64_t before = (w.size - 1) / 2, after = w.size - 1 - before;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t c = i / inner % channels;
    double squares = 0;
    for (int64_t k = std::max<int64_t>(0, c - before); k <= std::min(channels - 1, c + after); ++k)
      squares += std::pow(static_cast<double>(x.data<float>()[i + (k - c) * inner]), 2);
    const double base = w.bias + w.alpha / static_cast<double>(w.size) * squares;
    y.mutable_data<float>()[i] =
        static_cast<float>(static_cast<double>(x.data<float>()[i]) / std::pow(base, w.beta));
  }
  return y;
}

TEST(Lrn, ShapesAndWindows) {
  std::mt19937 random(1);
  const Dims shapes[] = {{2, 7, 5, 3}, {1, 5, 300}, {3, 9}, {1, 1, 40}, {2, 0, 4}, {2, 3, 0}};
  const Window windows[] = {{5, 0.5, 0.75, 1.0},
                            {1, 1.0, 0.5, 2.0},
                            {2, 0.25, -1.3, 1.5},
                            {4, 0.125, 2.0, 0.5},
                            {31, 4.0, 0.75, 1.0}};
  for (const Dims& dims : shapes) {
    for (const Window& w : windows) {
      const Tensor x = RandomFloats(dims, random, -3, 3);
      const auto rank = static_cast<int64_t>(dims.size());
      const Tensor y = Normalized(x, dims[1], NumElements(dims, 2, rank), w);
      cases::OpCase c = {absl::StrCat(DimsString(dims), " size ", w.size),
                         "LRN",
                         "",
                         {{"size", w.size},
                          {"alpha", static_cast<float>(w.alpha)},
                          {"beta", static_cast<float>(w.beta)},
                          {"bias", static_cast<float>(w.bias)}},
                         {x},
                         {y}};
      EXPECT_GE(ExpectFastKernels(c), 1);
    }
  }
}

}  // namespace
}  // namespace onward::kernels
