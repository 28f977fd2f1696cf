// Pools of float32 of any window and rank against sums and maxima by definition.
#include <algorithm>
#include <cmath>
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

  // Windows of one to four axes, dilated ones too, by the definition of one window after another.
  struct Window1 {
    int64_t input, kernel, stride, dilation, begin, end;
    int64_t output() const {
      return (input + begin + end - (kernel - 1) * dilation - 1) / stride + 1;
    }
  };

  // Where the elements lie that the window at `position` has, in their order.
  static std::vector<int64_t> Places(const std::vector<Window1>& axes, int64_t position) {
    std::vector<int64_t> offsets = {0}, places(axes.size());
    for (size_t a = axes.size(); a-- > 0; position /= axes[a].output())
      places[a] = position % axes[a].output();
    for (size_t a = 0; a < axes.size(); ++a) {
      std::vector<int64_t> next;
      for (const int64_t offset : offsets) {
        for (int64_t k = 0; k < axes[a].kernel; ++k) {
          const int64_t at = places[a] * axes[a].stride + k * axes[a].dilation - axes[a].begin;
          if (at >= 0 && at < axes[a].input) next.push_back(offset * axes[a].input + at);
        }
      }
      offsets = next;
    }
    return offsets;
  }

  static float Pooled(const std::string& op, int64_t p, const std::vector<float>& elements,
                      double divisor) {
    double sum = 0;
    float greatest = -std::numeric_limits<float>::infinity();
    for (const float element : elements) {
      const auto wide = static_cast<double>(element);
      sum += op == "LpPool" ? std::pow(std::fabs(wide), static_cast<double>(p)) : wide;
      if (!(element <= greatest) && greatest == greatest) greatest = element;
    }
    if (op == "MaxPool") return greatest;
    if (op == "LpPool") return static_cast<float>(std::pow(sum, 1.0 / static_cast<double>(p)));
    return static_cast<float>(sum / divisor);
  }

  std::vector<Window1> DrawWindows() {
    std::vector<Window1> axes(static_cast<size_t>(Draw(1, 4)));
    const bool pads = Draw(0, 1) == 0;
    for (Window1& axis : axes) {
      axis = {0, Draw(1, 3), Draw(1, 3), Draw(1, 2), 0, 0};
      if (pads) axis.begin = axis.end = Draw(0, axis.kernel - 1);
      if (Draw(0, 1) == 0) axis = {0, 2, 2, 1, 0, 0};
      axis.input = Draw((axis.kernel - 1) * axis.dilation + 1, &axis == &axes.back() ? 80 : 8);
    }
    return axes;
  }

  // Every kernel gives NaN where a window has one.
  Tensor DrawPlanes(const Dims& dims) {
    Tensor x(DType::kFloat32, dims);
    const int64_t most = Draw(0, 1) == 0 ? 3 : 1000;  // few numbers: many are equal
    for (int64_t i = 0; i < x.num_elements(); ++i)
      x.mutable_data<float>()[i] = static_cast<float>(Draw(-most, most)) / 64;
    if (Draw(0, 2) == 0) {
      x.mutable_data<float>()[Draw(0, x.num_elements() - 1)] =
          std::numeric_limits<float>::quiet_NaN();
    }
    return x;
  }

  void TryRank() {
    const char* kOps[] = {"MaxPool", "AveragePool", "LpPool"};
    const std::string op = kOps[Draw(0, 2)];
    const std::vector<Window1> axes = DrawWindows();
    std::vector<int64_t> kernel, strides, dilations, begins, ends;
    Dims dims = {2, Draw(1, 2)}, out_dims = dims;
    double window = 1;
    for (const Window1& axis : axes) {
      kernel.push_back(axis.kernel);
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation);
      begins.push_back(axis.begin);
      ends.push_back(axis.end);
      dims.push_back(axis.input);
      out_dims.push_back(axis.output());
      window *= static_cast<double>(axis.kernel);
    }
    const Tensor x = DrawPlanes(dims);
    Tensor y(DType::kFloat32, out_dims), indices(DType::kInt64, out_dims);
    const int64_t planes = dims[0] * dims[1], p = Draw(1, 3);
    const int64_t outputs = y.num_elements() / planes, inputs = x.num_elements() / planes;
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const float* plane = x.data<float>() + i / outputs * inputs;
      const std::vector<int64_t> offsets = Places(axes, i % outputs);
      std::vector<float> elements;
      for (const int64_t offset : offsets) elements.push_back(plane[offset]);
      y.mutable_data<float>()[i] = Pooled(op, p, elements, window);
      size_t first = 0;
      for (size_t j = 1; j < elements.size(); ++j) {
        if (!(elements[j] <= elements[first]) && elements[first] == elements[first]) first = j;
      }
      indices.mutable_data<int64_t>()[i] =
          i / outputs * inputs + (elements.empty() ? -1 : offsets[first]);
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    cases::OpCase pool;
    pool.op = op;
    pool.name = absl::StrCat(op, " of ", DimsString(dims));
    pool.attributes = {
        {"kernel_shape", kernel}, {"strides", strides}, {"pads", begins}, {"dilations", dilations}};
    if (op == "AveragePool") pool.attributes.Set("count_include_pad", int64_t{1});
    if (op == "LpPool") pool.attributes.Set("p", p);
    pool.inputs = {x};
    pool.expected = {y};
    if (op == "MaxPool" && Draw(0, 1) == 0) pool.expected.push_back(indices);
    pool.atol = 1e-5;
    EXPECT_GE(testing::ExpectFastKernels(pool), op == "LpPool" && p == 3 ? 0 : 1);
  }

  std::mt19937 random_;
};

TEST_F(PoolTest, AnyRank) {
  const auto first = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
  for (unsigned seed = first; seed < first + 120; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    random_.seed(seed);
    TryRank();
    if (HasFailure()) return;
  }
}

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
