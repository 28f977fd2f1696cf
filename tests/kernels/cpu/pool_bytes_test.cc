// Maxima of 8-bit integers over windows against looking at each element, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

struct Axis {
  int64_t input, kernel, stride, dilation, begin, end;
  int64_t output() const {
    return (input + begin + end - (kernel - 1) * dilation - 1) / stride + 1;
  }
};

class PoolBytesTest : public ::testing::Test {
 protected:
  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  // Padding is less than a window, so that each has an element.
  Axis DrawAxis() {
    const int64_t kernel = Draw(1, 4);
    Axis axis = {Draw(4, 21),        kernel, Draw(1, 3), Draw(1, 2), Draw(0, kernel - 1),
                 Draw(0, kernel - 1)};
    if (axis.dilation > 1) axis.begin = axis.end = 0;
    axis.input = std::max(axis.input, (kernel - 1) * axis.dilation + 1);
    return axis;
  }

  template <typename T>
  void Try(DType dtype, bool last) {
    const Axis rows = DrawAxis(), columns = DrawAxis();
    const int64_t n = Draw(1, 2), c = Draw(1, 150);
    // The place of an element in a layout.
    const auto at = [&](int64_t i, int64_t k, int64_t h, int64_t w, int64_t height, int64_t width) {
      return last ? ((i * height + h) * width + w) * c + k : ((i * c + k) * height + h) * width + w;
    };
    const int64_t out_h = rows.output(), out_w = columns.output();
    Tensor x(dtype,
             last ? Dims{n, rows.input, columns.input, c} : Dims{n, c, rows.input, columns.input});
    Tensor y(dtype, last ? Dims{n, out_h, out_w, c} : Dims{n, c, out_h, out_w});
    T* from = x.mutable_data<T>();
    for (int64_t i = 0; i < x.num_elements(); ++i) from[i] = static_cast<T>(Draw(0, 255));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < c; ++k)
        for (int64_t h = 0; h < out_h; ++h)
          for (int64_t w = 0; w < out_w; ++w) {
            T greatest = std::numeric_limits<T>::lowest();
            for (int64_t a = 0; a < rows.kernel; ++a)
              for (int64_t b = 0; b < columns.kernel; ++b) {
                const int64_t p = h * rows.stride + a * rows.dilation - rows.begin;
                const int64_t q = w * columns.stride + b * columns.dilation - columns.begin;
                if (p < 0 || p >= rows.input || q < 0 || q >= columns.input) continue;
                greatest = std::max(greatest, from[at(i, k, p, q, rows.input, columns.input)]);
              }
            y.mutable_data<T>()[at(i, k, h, w, out_h, out_w)] = greatest;
          }
    cases::OpCase pool;
    pool.op = last ? "ChannelsLastMaxPool" : "MaxPool";
    pool.domain = last ? "onward" : "";
    pool.name = absl::StrCat(pool.op, " of ", DimsString(x.dims()));
    pool.attributes = {
        {"kernel_shape", std::vector<int64_t>{rows.kernel, columns.kernel}},
        {"strides", std::vector<int64_t>{rows.stride, columns.stride}},
        {"dilations", std::vector<int64_t>{rows.dilation, columns.dilation}},
        {"pads", std::vector<int64_t>{rows.begin, columns.begin, rows.end, columns.end}}};
    pool.inputs = {x};
    pool.expected = {y};
    EXPECT_GE(testing::ExpectFastKernels(pool, 2), 1);
  }

  std::mt19937 random_;
};

TEST_F(PoolBytesTest, AnyWindowInEitherLayout) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    random_.seed(seed);
    const bool last = Draw(0, 1) == 0;
    if (Draw(0, 1) == 0) {
      Try<uint8_t>(DType::kUint8, last);
    } else {
      Try<int8_t>(DType::kInt8, last);
    }
  }
}

}  // namespace
}  // namespace onward::kernels
