// Convolutions, pools and turns of float32 and bfloat16 with channels last against sums in double,
// on every instruction set that has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
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

struct Sizes {
  int64_t batch = 1, group = 1, channels = 1, filters = 1, h = 1, w = 1;  // filters: of all groups
  Window window;
};

class ChannelsLastConv : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (num_targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  }

  static bool is_float() { return GetParam() == DType::kFloat32; }
  static Precision precision() { return is_float() ? Precision::kDefault : Precision::kFast; }
  static int num_targets() {
    const cpu::TargetMask mask = is_float() ? cpu::kVectorTargets : cpu::kBf16Targets;
    return std::popcount(cpu::AllowedTargets() & mask);
  }
  static Tensor Image(const Tensor& x) {
    return is_float() ? Last(x) : Narrowed(Last(x), GetParam());
  }

  static OpCase CaseOf(std::string_view op, std::string name) {
    OpCase c;
    c.domain = "onward";
    c.op = std::string(op);
    c.name = std::move(name);
    // A sum that lies between two bfloat16 may be rounded to either.
    c.rtol = is_float() ? 1e-5 : 1.0 / 128;
    c.atol = is_float() ? 1e-5 : 1e-3;
    return c;
  }
  static void SetType(OpCase& c) {
    if (is_float()) c.attributes.Set("dtype", static_cast<int64_t>(DType::kFloat32));
  }

  // The layouts that X comes in, whether channels come last.
  static std::vector<bool> Layouts() {
    return is_float() ? std::vector<bool>{true} : std::vector<bool>{false, true};
  }
  static void ExpectConvolutions(const Sizes& sizes, std::mt19937& random);
};

INSTANTIATE_TEST_SUITE_P(Types, ChannelsLastConv,
                         ::testing::Values(DType::kFloat32, DType::kBFloat16),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

// With X in both layouts, with and without a residual.
void ChannelsLastConv::ExpectConvolutions(const Sizes& s, std::mt19937& random) {
  OpCase c = CaseOf("ChannelsLastFusedConv", absl::StrCat(s.batch, "x", s.channels, "x", s.h, "x",
                                                          s.w, " to ", s.filters, " of ", s.group));
  const Tensor x = RandomBFloats({s.batch, s.channels, s.h, s.w}, random);
  const Tensor w = RandomBFloats(
      {s.filters, s.channels / s.group, s.window.kernel[0], s.window.kernel[1]}, random);
  const Tensor bias = Draw(random, 0, 1) == 0 ? RandomBFloats({s.filters}, random) : Tensor();
  Tensor y = Convolve(x, w, bias, s.group, s.window);
  c.attributes = AttributesOf(s.window, s.group);
  c.attributes.Set("activation", "clip");
  c.attributes.Set("activation_alpha", -1.5f);
  c.attributes.Set("activation_beta", 2.25f);
  SetType(c);
  for (const bool has_residual : {false, true}) {
    const Tensor residual = RandomBFloats(y.dims(), random);
    Tensor expected(DType::kFloat32, y.dims());
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const float sum = y.data<float>()[i] + (has_residual ? residual.data<float>()[i] : 0.0f);
      expected.mutable_data<float>()[i] = std::clamp(sum, -1.5f, 2.25f);
    }
    c.expected = {Image(expected)};
    for (const bool comes_last : Layouts()) {
      c.inputs = {comes_last ? Image(x) : x, w, bias};
      if (has_residual) c.inputs.push_back(Image(residual));
      EXPECT_EQ(ExpectFastKernels(c, 2, precision()), num_targets());
    }
  }
}

TEST_P(ChannelsLastConv, RandomWindowsGroupsAndSizes) {
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
TEST_P(ChannelsLastConv, ManyChannelsAndPixels) {
  std::mt19937 random(1);
  const Window point = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  const Window same = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window halves = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  for (const Window& window : {point, same, halves}) {
    ExpectConvolutions({1, 1, 144, 100, 28, 28, window}, random);
    ExpectConvolutions({1, 96, 96, 96, 28, 28, window}, random);
  }
}

// Taps that lie in padding for all pixels, or for those of some rows.
TEST_P(ChannelsLastConv, WideDilations) {
  std::mt19937 random(6);
  for (const int64_t dilation : {4, 7, 12, 40}) {
    const Window same = {
        {3, 3}, {1, 1}, {dilation, dilation}, {dilation, dilation}, {dilation, dilation}};
    const Window wide = {{1, 5}, {1, 2}, {1, dilation}, {0, 2 * dilation}, {0, 2 * dilation}};
    for (const Window& window : {same, wide}) {
      ExpectConvolutions({1, 1, 37, 50, 9, 7, window}, random);
      ExpectConvolutions({2, 2, 32, 32, 1, 13, window}, random);
      ExpectConvolutions({1, 1, 16, 70, 14, 14, window}, random);
    }
  }
}

// A NaN reaches the windows that hold it and no others, although steps and tiles read beyond runs.
TEST_P(ChannelsLastConv, KeepsNaNToItsPixels) {
  std::mt19937 random(2);
  const Window point = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  for (const int64_t channels : {3, 5, 34, 47, 72}) {
    OpCase c = CaseOf("ChannelsLastFusedConv", absl::StrCat(channels, " channels"));
    c.attributes = AttributesOf(point, 1);
    SetType(c);
    Tensor x = RandomBFloats({1, channels, 5, 9}, random);
    for (int64_t channel = 0; channel < channels; ++channel)
      x.mutable_data<float>()[channel * 45 + 20] = NAN;
    const Tensor w = RandomBFloats({40, channels, 1, 1}, random);
    c.expected = {Image(Convolve(x, w, {}, 1, point))};
    for (const bool comes_last : Layouts()) {
      c.inputs = {comes_last ? Image(x) : x, w};
      EXPECT_EQ(ExpectFastKernels(c, 2, precision()), num_targets());
    }
  }
}

// Winograd's kernel takes 3x3 taps, those of bfloat16 on processors without AMX.
TEST_P(ChannelsLastConv, ByWinograd) {
  int ran = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t channels = Draw(random, 16, 90), filters = Draw(random, 40, 110);
    Window window = {{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    for (int axis = 0; axis < 2; ++axis)
      window.begin[axis] = Draw(random, 0, 2), window.end[axis] = Draw(random, 0, 2);
    const Dims dims = {Draw(random, 1, 2), channels, Draw(random, 9, 30), Draw(random, 9, 30)};
    OpCase c = CaseOf("ChannelsLastFusedConv", absl::StrCat(DimsString(dims), " to ", filters));
    c.attributes = AttributesOf(window, 1);
    c.attributes.Set("activation", "relu");
    SetType(c);
    if (is_float()) c.rtol = c.atol = 1e-4;
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
      c.expected = {Image(expected)};
      c.inputs = {Image(x), w, bias};
      if (has_residual) c.inputs.push_back(Image(residual));
      ran += testing::ExpectWinogradKernels(c, 2, precision());
    }
  }
  const bool has_tiles = (cpu::AllowedTargets() & cpu::MaskOf(cpu::Target::kAmx)) != 0;
  EXPECT_GT(ran, has_tiles && !is_float() ? -1 : 20);
}

TEST_P(ChannelsLastConv, TurnsAndScalesImages) {
  std::mt19937 random(3);
  for (const int64_t channels : {1, 2, 3, 4, 7, 16, 33, 70}) {
    const int64_t rows = channels % 2 == 0 ? 5 : 24, pixels = rows * 23;
    const Tensor x = RandomBFloats({2, channels, rows, 23}, random);
    const Tensor s = RandomBFloats({2, channels, 1, 1}, random);
    OpCase c = CaseOf("ToChannelsLast", absl::StrCat(channels, " channels"));
    c.rtol = c.atol = 0;
    SetType(c);
    c.inputs = {x}, c.expected = {Image(x)};
    EXPECT_EQ(ExpectFastKernels(c, 0, precision()), num_targets());
    c.attributes = {};
    c.op = "ToChannelsFirst", c.inputs = {Image(x)}, c.expected = {x};
    EXPECT_EQ(ExpectFastKernels(c, 0, precision()), num_targets());
    Tensor scaled(DType::kFloat32, x.dims());
    for (int64_t i = 0; i < x.num_elements(); ++i)
      scaled.mutable_data<float>()[i] = x.data<float>()[i] * s.data<float>()[i / pixels];
    c.op = "ChannelsLastScale", c.inputs = {Image(x), s}, c.expected = {Image(scaled)};
    EXPECT_EQ(ExpectFastKernels(c, 0, precision()), num_targets());
    const Tensor terms = RandomBFloats({1, channels, 1, 1}, random);
    for (int64_t i = 0; i < x.num_elements(); ++i)
      scaled.mutable_data<float>()[i] += terms.data<float>()[i / pixels % channels];
    c.inputs.push_back(terms), c.expected = {Image(scaled)};
    c.rtol = 1.0 / 128, c.atol = 1e-6;
    EXPECT_EQ(ExpectFastKernels(c, 0, precision()), num_targets());
  }
}

TEST(NarrowSums, OfAnyShapes) {
  if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  std::mt19937 random(5);
  const std::pair<Dims, Dims> shapes[] = {
      {{2, 5, 7, 37}, {2, 5, 7, 37}}, {{3, 1, 37}, {3, 5, 37}}, {{4, 70}, {4, 1}}, {{}, {33}}};
  for (const auto& [a_dims, b_dims] : shapes) {
    const Tensor a = RandomBFloats(a_dims, random), b = RandomBFloats(b_dims, random);
    OpCase c;
    c.op = "Add", c.name = DimsString(b_dims);
    c.rtol = 1.0 / 128, c.atol = 1e-6;
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

TEST_P(ChannelsLastConv, PoolsOfImages) {
  std::mt19937 random(4);
  for (const int64_t channels : {1, 16, 37, 130}) {
    const Tensor x = RandomBFloats({2, channels, 6, 9}, random);
    OpCase c = CaseOf("ChannelsLastMaxPool", absl::StrCat(channels, " channels"));
    c.inputs = {Image(x)};
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
    c.rtol = c.atol = 0, c.expected = {Image(greatest)};
    c.attributes = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                    {"strides", std::vector<int64_t>{2, 2}},
                    {"pads", std::vector<int64_t>{1, 0, 0, 0}}};
    EXPECT_EQ(ExpectFastKernels(c, 0, precision()), num_targets());
    c.op = "ChannelsLastGlobalAveragePool", c.expected = {means};
    c.rtol = 1e-4, c.atol = 1e-6;
    c.attributes = {};
    EXPECT_EQ(ExpectFastKernels(c, 0, precision()), num_targets());
    const Tensor large = RandomBFloats({2, channels, 20, 31}, random);
    for (int64_t plane = 0; plane < 2 * channels; ++plane) {
      double sum = 0;
      for (int64_t i = 0; i < 620; ++i)
        sum += static_cast<double>(large.data<float>()[plane * 620 + i]);
      means.mutable_data<float>()[plane] = static_cast<float>(sum / 620);
    }
    c.inputs = {Image(large)};
    EXPECT_EQ(ExpectFastKernels(c, 0, precision()), num_targets());
  }
}

}  // namespace
}  // namespace onward::kernels
