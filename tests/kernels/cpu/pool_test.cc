// Pools of float32 of any window against sums and maxima by definition.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

struct Axis {
  int64_t input, kernel, stride, begin, end;
  int64_t output() const { return (input + begin + end - kernel) / stride + 1; }
};

class PoolTest : public ::testing::Test {
 protected:
  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Axis DrawAxis(int64_t longest) {
    const int64_t kernel = Draw(1, 5);
    return {Draw(kernel, longest), kernel, Draw(1, 5), Draw(0, kernel - 1), Draw(0, kernel - 1)};
  }

  // The elements of the window at (h, w) that the image has.
  static std::vector<double> Window(const float* image, const Axis& rows, const Axis& columns,
                                    int64_t h, int64_t w) {
    std::vector<double> elements;
    for (int64_t a = 0; a < rows.kernel; ++a)
      for (int64_t b = 0; b < columns.kernel; ++b) {
        const int64_t p = h * rows.stride + a - rows.begin;
        const int64_t q = w * columns.stride + b - columns.begin;
        if (p >= 0 && p < rows.input && q >= 0 && q < columns.input)
          elements.push_back(image[p * columns.input + q]);
      }
    return elements;
  }

  void Try(bool average) {
    const Axis rows = DrawAxis(12), columns = DrawAxis(150);
    const int64_t channels = Draw(1, 3);
    Tensor x(DType::kFloat32, Dims{1, channels, rows.input, columns.input});
    Tensor y(DType::kFloat32, Dims{1, channels, rows.output(), columns.output()});
    for (int64_t i = 0; i < x.num_elements(); ++i)
      x.mutable_data<float>()[i] = static_cast<float>(Draw(-1000, 1000)) / 64;
    float* to = y.mutable_data<float>();
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t h = 0; h < rows.output(); ++h)
        for (int64_t w = 0; w < columns.output(); ++w) {
          const float* image = x.data<float>() + c * rows.input * columns.input;
          const std::vector<double> window = Window(image, rows, columns, h, w);
          double sum = 0, greatest = -std::numeric_limits<double>::infinity();
          for (const double element : window) {
            sum += element;
            greatest = std::max(greatest, element);
          }
          *to++ = static_cast<float>(average ? sum / static_cast<double>(window.size()) : greatest);
        }
    cases::OpCase pool;
    pool.op = average ? "AveragePool" : "MaxPool";
    pool.name = absl::StrCat(pool.op, " of ", DimsString(x.dims()));
    pool.attributes = {
        {"kernel_shape", std::vector<int64_t>{rows.kernel, columns.kernel}},
        {"strides", std::vector<int64_t>{rows.stride, columns.stride}},
        {"pads", std::vector<int64_t>{rows.begin, columns.begin, rows.end, columns.end}}};
    pool.inputs = {x};
    pool.expected = {y};
    EXPECT_GE(testing::ExpectFastKernels(pool), 1);
  }

  std::mt19937 random_;
};

TEST_F(PoolTest, AnyWindow) {
  const auto first = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
  for (unsigned seed = first; seed < first + 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    random_.seed(seed);
    Try(Draw(0, 1) == 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace onward::kernels
