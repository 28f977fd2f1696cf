// Convolutions, pools and turns of bfloat16 with channels last against sums in double, on every
// instruction set that has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/targets.h"
#include "tests/kernels/cpu/conv_case.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::Narrowed;
using testing::RandomBFloats;

// A sum that lies between two bfloat16 may be rounded to either.
constexpr double kRounding = 1.0 / 128;

// [N, C, H, W] as [N, H, W, C], in float32.
Tensor Last(const Tensor& x) {
  const DimsView dims = x.dims();
  const int64_t channels = dims[1], pixels = dims[2] * dims[3];
  Tensor last(DType::kFloat32, Dims{dims[0], dims[2], dims[3], channels});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t image = i / pixels / channels, channel = i / pixels % channels;
    last.mutable_data<float>()[(image * pixels + i % pixels) * channels + channel] =
        x.data<float>()[i];
  }
  return last;
}

Tensor NarrowLast(const Tensor& x) { return Narrowed(Last(x), DType::kBFloat16); }

struct Sizes {
  int64_t batch = 1, group = 1, channels = 1, filters = 1, h = 1, w = 1;  // filters: of all groups
  Window window;
};

// With X in both layouts, with and without a residual.
void ExpectConvolutions(const Sizes& s, std::mt19937& random) {
  OpCase c;
  c.domain = "onward";
  c.op = "ChannelsLastFusedConv";
  c.name = absl::StrCat(s.batch, "x", s.channels, "x", s.h, "x", s.w, " to ", s.filters, " of ",
                        s.group);
  const Tensor x = RandomBFloats({s.batch, s.channels, s.h, s.w}, random);
  const Tensor w = RandomBFloats(
      {s.filters, s.channels / s.group, s.window.kernel[0], s.window.kernel[1]}, random);
  const Tensor bias = Draw(random, 0, 1) == 0 ? RandomBFloats({s.filters}, random) : Tensor();
  Tensor y = Convolve(x, w, bias, s.group, s.window);
  c.attributes = AttributesOf(s.window, s.group);
  c.attributes.Set("activation", "clip");
  c.attributes.Set("activation_alpha", -1.5f);
  c.attributes.Set("activation_beta", 2.25f);
  c.rtol = kRounding;
  c.atol = 1e-3;
  for (const bool has_residual : {false, true}) {
    const Tensor residual = RandomBFloats(y.dims(), random);
    Tensor expected(DType::kFloat32, y.dims());
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const float sum = y.data<float>()[i] + (has_residual ? residual.data<float>()[i] : 0.0f);
      expected.mutable_data<float>()[i] = std::clamp(sum, -1.5f, 2.25f);
    }
    c.expected = {NarrowLast(expected)};
    for (const bool comes_last : {false, true}) {
      c.inputs = {comes_last ? NarrowLast(x) : x, w, bias};
      if (has_residual) c.inputs.push_back(NarrowLast(residual));
      EXPECT_EQ(ExpectFastKernels(c, 2, Precision::kFast), testing::NumBf16Targets());
    }
  }
}

class ChannelsLastConv : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  }
};

TEST_F(ChannelsLastConv, RandomWindowsGroupsAndSizes) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Sizes s;
    s.batch = Draw(random, 1, 2);
    s.h = Draw(random, 1, 19), s.w = Draw(random, 1, 40);
    const bool is_point = Draw(random, 0, 2) == 0;
    for (int axis = 0; axis < 2; ++axis) {
      s.window.kernel[axis] = is_point ? 1 : Draw(random, 1, 5);
      s.window.stride[axis] = Draw(random, 1, 3);
      s.window.dilation[axis] = is_point ? 1 : Draw(random, 1, 2);
      s.window.begin[axis] = is_point ? 0 : Draw(random, 0, 2);
      s.window.end[axis] = is_point ? 0 : Draw(random, 0, 2);
    }
    s.h = std::max(s.h, (s.window.kernel[0] - 1) * s.window.dilation[0] + 1);
    s.w = std::max(s.w, (s.window.kernel[1] - 1) * s.window.dilation[1] + 1);
    const int64_t kind = Draw(random, 0, 3);
    if (kind == 0) {
      s.group = s.channels = s.filters = Draw(random, 2, 80);
    } else {
      s.group = kind == 1 ? Draw(random, 2, 3) : 1;
      s.channels = s.group * Draw(random, 1, 90), s.filters = s.group * Draw(random, 1, 70);
    }
    ExpectConvolutions(s, random);
  }
}

// Several chunks, panels and steps of a run that overlap.
TEST_F(ChannelsLastConv, ManyChannelsAndPixels) {
  std::mt19937 random(1);
  const Window point = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  const Window same = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window halves = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  for (const Window& window : {point, same, halves}) {
    ExpectConvolutions({1, 1, 144, 100, 28, 28, window}, random);
    ExpectConvolutions({1, 96, 96, 96, 28, 28, window}, random);
  }
}

// A NaN reaches the windows that hold it and no others, although steps and tiles read beyond runs.
TEST_F(ChannelsLastConv, KeepsNaNToItsPixels) {
  std::mt19937 random(2);
  const Window point = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  for (const int64_t channels : {3, 5, 34, 47, 72}) {
    OpCase c;
    c.domain = "onward";
    c.op = "ChannelsLastFusedConv";
    c.name = absl::StrCat(channels, " channels");
    c.attributes = AttributesOf(point, 1);
    c.rtol = kRounding, c.atol = 1e-3;
    Tensor x = RandomBFloats({1, channels, 5, 9}, random);
    for (int64_t channel = 0; channel < channels; ++channel)
      x.mutable_data<float>()[channel * 45 + 20] = NAN;
    const Tensor w = RandomBFloats({40, channels, 1, 1}, random);
    c.expected = {NarrowLast(Convolve(x, w, {}, 1, point))};
    for (const bool comes_last : {false, true}) {
      c.inputs = {comes_last ? NarrowLast(x) : x, w};
      EXPECT_EQ(ExpectFastKernels(c, 2, Precision::kFast), testing::NumBf16Targets());
    }
  }
}

// Winograd's kernel takes 3x3 taps on processors without AMX.
TEST_F(ChannelsLastConv, ByWinograd) {
  int ran = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t channels = Draw(random, 16, 90), filters = Draw(random, 40, 110);
    Window window = {{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    for (int axis = 0; axis < 2; ++axis)
      window.begin[axis] = Draw(random, 0, 2), window.end[axis] = Draw(random, 0, 2);
    const Dims dims = {Draw(random, 1, 2), channels, Draw(random, 9, 30), Draw(random, 9, 30)};
    OpCase c;
    c.domain = "onward";
    c.op = "ChannelsLastFusedConv";
    c.name = absl::StrCat(DimsString(dims), " to ", filters);
    c.attributes = AttributesOf(window, 1);
    c.attributes.Set("activation", "relu");
    c.rtol = kRounding, c.atol = 1e-3;
    const Tensor x = RandomBFloats(dims, random);
    const Tensor w = RandomBFloats({filters, channels, 3, 3}, random);
    const Tensor bias = Draw(random, 0, 1) == 0 ? RandomBFloats({filters}, random) : Tensor();
    const Tensor y = Convolve(x, w, bias, 1, window);
    for (const bool has_residual : {false, true}) {
      const Tensor residual = RandomBFloats(y.dims(), random);
      Tensor expected(DType::kFloat32, y.dims());
      for (int64_t i = 0; i < y.num_elements(); ++i) {
        const float sum = y.data<float>()[i] + (has_residual ? residual.data<float>()[i] : 0.0f);
        expected.mutable_data<float>()[i] = std::max(sum, 0.0f);
      }
      c.expected = {NarrowLast(expected)};
      c.inputs = {NarrowLast(x), w, bias};
      if (has_residual) c.inputs.push_back(NarrowLast(residual));
      ran += testing::ExpectWinogradKernels(c, 2, Precision::kFast);
    }
  }
  const bool has_tiles = (cpu::AllowedTargets() & cpu::MaskOf(cpu::Target::kAmx)) != 0;
  EXPECT_GT(ran, has_tiles ? -1 : 20);
}

TEST_F(ChannelsLastConv, TurnsAndScalesImages) {
  std::mt19937 random(3);
  for (const int64_t channels : {1, 2, 3, 4, 7, 16, 33, 70}) {
    const Tensor x = RandomBFloats({2, channels, 5, 23}, random);
    const Tensor s = RandomBFloats({2, channels, 1, 1}, random);
    OpCase c;
    c.domain = "onward";
    c.name = absl::StrCat(channels, " channels");
    c.op = "ToChannelsLast", c.inputs = {x}, c.expected = {NarrowLast(x)};
    EXPECT_EQ(ExpectFastKernels(c, 0, Precision::kFast), testing::NumBf16Targets());
    c.op = "ToChannelsFirst", c.inputs = {NarrowLast(x)}, c.expected = {x};
    EXPECT_EQ(ExpectFastKernels(c, 0, Precision::kFast), testing::NumBf16Targets());
    Tensor scaled(DType::kFloat32, x.dims());
    for (int64_t i = 0; i < x.num_elements(); ++i)
      scaled.mutable_data<float>()[i] = x.data<float>()[i] * s.data<float>()[i / (5 * 23)];
    c.op = "ChannelsLastScale", c.inputs = {NarrowLast(x), s}, c.expected = {NarrowLast(scaled)};
    EXPECT_EQ(ExpectFastKernels(c, 0, Precision::kFast), testing::NumBf16Targets());
    const Tensor terms = RandomBFloats({1, channels, 1, 1}, random);
    for (int64_t i = 0; i < x.num_elements(); ++i)
      scaled.mutable_data<float>()[i] += terms.data<float>()[i / (5 * 23) % channels];
    c.inputs.push_back(terms), c.expected = {NarrowLast(scaled)};
    c.rtol = kRounding, c.atol = 1e-6;
    EXPECT_EQ(ExpectFastKernels(c, 0, Precision::kFast), testing::NumBf16Targets());
  }
}

TEST_F(ChannelsLastConv, SumsOfAnyShapes) {
  std::mt19937 random(5);
  const std::pair<Dims, Dims> shapes[] = {
      {{2, 5, 7, 37}, {2, 5, 7, 37}}, {{3, 1, 37}, {3, 5, 37}}, {{4, 70}, {4, 1}}, {{}, {33}}};
  for (const auto& [a_dims, b_dims] : shapes) {
    const Tensor a = RandomBFloats(a_dims, random), b = RandomBFloats(b_dims, random);
    OpCase c;
    c.op = "Add", c.name = DimsString(b_dims);
    c.rtol = kRounding, c.atol = 1e-6;
    const int64_t a_last = a_dims.empty() ? 1 : a_dims.back(), b_last = b_dims.back();
    Dims dims = b_dims;
    dims.back() = std::max(a_last, b_last);
    Tensor y(DType::kFloat32, dims);
    const int64_t middle = a_dims.size() == 3 ? b_dims[1] : 1;  // of b alone
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const int64_t row = i / dims.back(), column = i % dims.back();
      const int64_t a_row = a_dims.empty() ? 0 : row / middle;
      y.mutable_data<float>()[i] = a.data<float>()[a_row * a_last + (a_last == 1 ? 0 : column)] +
                                   b.data<float>()[row * b_last + (b_last == 1 ? 0 : column)];
    }
    c.inputs = {Narrowed(a, DType::kBFloat16), Narrowed(b, DType::kBFloat16)};
    c.expected = {Narrowed(y, DType::kBFloat16)};
    EXPECT_EQ(ExpectFastKernels(c, 0, Precision::kFast), testing::NumBf16Targets()) << c.name;
  }
}

TEST_F(ChannelsLastConv, PoolsOfImages) {
  std::mt19937 random(4);
  for (const int64_t channels : {1, 16, 37, 130}) {
    const Tensor x = RandomBFloats({2, channels, 6, 9}, random);
    OpCase c;
    c.domain = "onward";
    c.name = absl::StrCat(channels, " channels");
    c.inputs = {NarrowLast(x)};
    Tensor greatest(DType::kFloat32, {2, channels, 3, 4});
    Tensor means(DType::kFloat32, {2, channels, 1, 1});
    for (int64_t plane = 0; plane < 2 * channels; ++plane) {
      const float* from = x.data<float>() + plane * 54;
      double sum = 0;
      for (int64_t i = 0; i < 54; ++i) sum += static_cast<double>(from[i]);
      means.mutable_data<float>()[plane] = static_cast<float>(sum / 54);
      for (int64_t i = 0; i < 12; ++i) {
        float most = -INFINITY;  // of windows of 3 x 3, 2 apart, that begin one row before
        for (int64_t row = i / 4 * 2 - 1; row < i / 4 * 2 + 2; ++row) {
          for (int64_t column = i % 4 * 2; column < i % 4 * 2 + 3; ++column)
            if (row >= 0) most = std::max(most, from[row * 9 + column]);
        }
        greatest.mutable_data<float>()[plane * 12 + i] = most;
      }
    }
    c.op = "ChannelsLastMaxPool", c.expected = {NarrowLast(greatest)};
    c.attributes = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                    {"strides", std::vector<int64_t>{2, 2}},
                    {"pads", std::vector<int64_t>{1, 0, 0, 0}}};
    EXPECT_EQ(ExpectFastKernels(c, 0, Precision::kFast), testing::NumBf16Targets());
    c.op = "ChannelsLastGlobalAveragePool", c.expected = {means};
    c.attributes = {};
    EXPECT_EQ(ExpectFastKernels(c, 0, Precision::kFast), testing::NumBf16Targets());
  }
}

}  // namespace
}  // namespace onward::kernels
