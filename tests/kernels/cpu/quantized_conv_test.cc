// Convolutions of 8-bit integers against sums in 64 bits, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;

struct Axis {
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  int64_t output() const {
    return (input + begin + end - (kernel - 1) * dilation - 1) / stride + 1;
  }
};

// A convolution over one or two axes; of one, `rows` is not used.
struct Shape {
  int rank = 2;
  int64_t batch = 1, group = 1, channels = 1, filters = 1;  // of one group
  Axis rows, columns;
  DType x = DType::kUint8, w = DType::kInt8, y = DType::kUint8;
  bool filter_zeros = false;  // zero points of the filters, else none
  bool middle = false;        // they are 128, as of signed filters plus 128
};

class QuantizedConvTest : public ::testing::Test {
 protected:
  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Tensor Bytes(DType dtype, DimsView dims) {
    Tensor tensor(dtype, dims);
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      static_cast<uint8_t*>(tensor.raw_mutable_data())[i] = static_cast<uint8_t>(Draw(0, 255));
    return tensor;
  }
  static int64_t At(const Tensor& tensor, int64_t i) {
    const uint8_t byte = static_cast<const uint8_t*>(tensor.raw_data())[i];
    return tensor.dtype() == DType::kInt8 ? static_cast<int8_t>(byte) : byte;
  }
  Axis DrawAxis() {
    Axis axis = {Draw(7, 19), Draw(1, 5), Draw(1, 3), Draw(1, 2), Draw(0, 2), Draw(0, 2)};
    if (Draw(0, 2) == 0) axis = {axis.input, 1, axis.stride, 1, 0, 0};
    while (axis.output() < 1) ++axis.input;
    return axis;
  }
  Shape DrawShape() {
    Shape shape;
    shape.rank = Draw(0, 3) == 0 ? 1 : 2;
    shape.batch = Draw(1, 2), shape.group = Draw(0, 2) == 0 ? Draw(2, 3) : 1;
    shape.channels = Draw(1, 37), shape.filters = Draw(1, 70);
    shape.columns = DrawAxis();
    if (shape.rank == 2) shape.rows = DrawAxis();
    const DType types[] = {DType::kInt8, DType::kUint8};
    shape.x = types[Draw(0, 1)], shape.w = types[Draw(0, 1)], shape.y = types[Draw(0, 1)];
    shape.filter_zeros = Draw(0, 1) == 1;
    return shape;
  }

  // The sums, [batch, filter, pixel].
  static std::vector<int64_t> Sums(const Shape& s, const Tensor& x, const Tensor& w, int64_t x_zero,
                                   const std::vector<int64_t>& w_zeros) {
    const int64_t out_h = s.rows.output(), out_w = s.columns.output();
    const int64_t taps = s.rows.kernel * s.columns.kernel, filters = s.group * s.filters;
    std::vector<int64_t> sums;
    for (int64_t i = 0; i < s.batch * filters * out_h * out_w; ++i) {
      const int64_t filter = i / (out_h * out_w) % filters, image = i / (out_h * out_w) / filters;
      int64_t sum = 0;
      for (int64_t k = 0; k < s.channels * taps; ++k) {
        const int64_t y = i / out_w % out_h * s.rows.stride - s.rows.begin +
                          k % taps / s.columns.kernel * s.rows.dilation;
        const int64_t column = i % out_w * s.columns.stride - s.columns.begin +
                               k % s.columns.kernel * s.columns.dilation;
        if (y < 0 || y >= s.rows.input || column < 0 || column >= s.columns.input) continue;
        const int64_t channel = (image * s.group + filter / s.filters) * s.channels + k / taps;
        sum += (At(x, (channel * s.rows.input + y) * s.columns.input + column) - x_zero) *
               (At(w, filter * s.channels * taps + k) -
                w_zeros[static_cast<size_t>(filter) % w_zeros.size()]);
      }
      sums.push_back(sum);
    }
    return sums;
  }

  static Tensor One(DType dtype, int64_t value) {
    Tensor tensor(dtype, Dims());
    *static_cast<uint8_t*>(tensor.raw_mutable_data()) = static_cast<uint8_t>(value);
    return tensor;
  }

  static Tensor ChannelsLast(const Tensor& x) {
    const DimsView dims = x.dims();
    Tensor last(x.dtype(), Dims{dims[0], dims[2], dims[3], dims[1]});
    const int64_t pixels = dims[2] * dims[3];
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t image = i / pixels / dims[1], channel = i / pixels % dims[1];
      static_cast<uint8_t*>(
          last.raw_mutable_data())[(image * pixels + i % pixels) * dims[1] + channel] =
          static_cast<const uint8_t*>(x.raw_data())[i];
    }
    return last;
  }

  // Runs all ops. Scales are powers of two, so that what is rounded is exact.
  void Expect(const Shape& s) {
    const bool flat = s.rank == 1;
    const int64_t filters = s.group * s.filters;
    Dims x_dims = {s.batch, s.group * s.channels, s.rows.input, s.columns.input};
    Dims w_dims = {filters, s.channels, s.rows.kernel, s.columns.kernel};
    Dims y_dims = {s.batch, filters, s.rows.output(), s.columns.output()};
    std::vector<int64_t> strides = {s.rows.stride, s.columns.stride};
    std::vector<int64_t> dilations = {s.rows.dilation, s.columns.dilation};
    std::vector<int64_t> pads = {s.rows.begin, s.columns.begin, s.rows.end, s.columns.end};
    if (flat) {
      for (Dims* dims : {&x_dims, &w_dims, &y_dims}) dims->erase(dims->begin() + 2);
      strides = {s.columns.stride}, dilations = {s.columns.dilation};
      pads = {s.columns.begin, s.columns.end};
    }
    const Tensor x = Bytes(s.x, x_dims), w = Bytes(s.w, w_dims);
    const Tensor x_zero = Bytes(s.x, Dims());
    Tensor w_zero = Bytes(s.w, Dims{filters});
    if (s.middle) std::fill_n(w_zero.mutable_data<uint8_t>(), filters, uint8_t{128});
    std::vector<int64_t> w_zeros = {0};
    if (s.filter_zeros) {
      w_zeros.clear();
      for (int64_t i = 0; i < filters; ++i) w_zeros.push_back(At(w_zero, i));
    }
    const std::vector<int64_t> sums = Sums(s, x, w, At(x_zero, 0), w_zeros);
    OpCase c;
    c.name = absl::StrCat(DimsString(x_dims), " * ", DimsString(w_dims), " group ", s.group);
    c.attributes = {
        {"group", s.group}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
    c.op = "ConvInteger";
    c.inputs = {x, w, x_zero, s.filter_zeros ? w_zero : Tensor()};
    Tensor integers(DType::kInt32, y_dims);
    for (size_t i = 0; i < sums.size(); ++i)
      integers.mutable_data<int32_t>()[i] = static_cast<int32_t>(sums[i]);
    c.expected = {integers};
    EXPECT_GE(ExpectFastKernels(c, 0b1010), 1);

    c.op = "QLinearConv";
    const Tensor y_zero = Bytes(s.y, Dims());
    Tensor scales(DType::kFloat32, Dims{filters}), bias(DType::kInt32, Dims{filters});
    for (int64_t i = 0; i < filters; ++i) {
      scales.mutable_data<float>()[i] = std::ldexp(1.0f, -static_cast<int>(Draw(6, 11)));
      bias.mutable_data<int32_t>()[i] = static_cast<int32_t>(Draw(-20000, 20000));
    }
    Tensor bytes(s.y, y_dims);
    const int64_t low = s.y == DType::kInt8 ? -128 : 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto filter =
          static_cast<int64_t>(i) / (s.rows.output() * s.columns.output()) % filters;
      const double scaled =
          std::nearbyint(static_cast<double>(sums[i] + bias.data<int32_t>()[filter]) *
                         static_cast<double>(scales.data<float>()[filter]));
      static_cast<uint8_t*>(bytes.raw_mutable_data())[i] = static_cast<uint8_t>(
          std::clamp(static_cast<int64_t>(scaled) + At(y_zero, 0), low, low + 255));
    }
    const Tensor half = Tensor::Of<float>({}, {0.5f}),
                 w_zero_or_none = s.filter_zeros ? w_zero : One(s.w, 0);
    c.inputs = {x, half, x_zero, w, scales, w_zero_or_none, half, y_zero, bias};
    c.expected = {bytes};
    EXPECT_GE(ExpectFastKernels(c, 0b101000), 1);
    if (flat) return;
    for (int64_t layouts = 1; layouts < 4; ++layouts) {
      c.domain = "onward", c.op = "ChannelsLastConv";
      c.attributes.Set("x_channels_last", layouts % 2);
      c.attributes.Set("y_channels_last", layouts / 2);
      c.inputs[0] = layouts % 2 != 0 ? ChannelsLast(x) : x;
      c.expected = {layouts / 2 != 0 ? ChannelsLast(bytes) : bytes};
      EXPECT_GE(ExpectFastKernels(c, 0b101000), 1);
    }
  }

  std::mt19937 random_;
};

TEST_F(QuantizedConvTest, RandomWindowsGroupsAndSizes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    random_.seed(seed);
    Expect(DrawShape());
  }
}

TEST_F(QuantizedConvTest, ManyFiltersAndPixels) {
  random_.seed(1);
  Shape shape;
  shape.channels = 19, shape.filters = 150;
  shape.rows = shape.columns = {33, 3, 1, 1, 1, 1};
  Expect(shape);
  // Pixels without gaps are one row, of any length.
  shape.rows = shape.columns = {37};
  Expect(shape);
}

// A group of each channel.
TEST_F(QuantizedConvTest, Depthwise) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    random_.seed(seed);
    Shape shape = DrawShape();
    shape.group = Draw(1, 100), shape.channels = 1, shape.filters = Draw(0, 4) == 0 ? 2 : 1;
    shape.columns.kernel = std::min(Draw(1, 9), shape.columns.input / 2);
    while (shape.columns.output() < 1) ++shape.columns.input;
    shape.middle = shape.w == DType::kUint8 && Draw(0, 1) == 1;
    shape.filter_zeros |= shape.middle;
    Expect(shape);
  }
}

}  // namespace
}  // namespace onward::kernels
