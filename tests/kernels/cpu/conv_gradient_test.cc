// The gradients of convolutions on every instruction set against sums in double, of random shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::ExpectWinogradKernels;
using testing::RandomFloats;

struct ConvShape {
  int64_t batch, channels, filters, group, input[2], kernel[2], stride[2], dilation[2], pad[2],
      output[2];
};

int64_t Draw(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

ConvShape DrawConv(std::mt19937& random, int64_t largest) {
  ConvShape s;
  s.batch = Draw(random, 1, 5);
  s.group = Draw(random, 0, 3) == 0 ? Draw(random, 2, 4) : 1;
  s.channels = s.group * Draw(random, 1, 6);
  s.filters = s.group * Draw(random, 1, 20);
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = Draw(random, 1, 4);
    s.stride[i] = Draw(random, 1, 3);
    s.dilation[i] = Draw(random, 1, 2);
    s.pad[i] = Draw(random, 0, 2);
    const int64_t extent = (s.kernel[i] - 1) * s.dilation[i] + 1;
    s.input[i] = Draw(random, extent, extent + largest);
    s.output[i] = (s.input[i] + 2 * s.pad[i] - extent) / s.stride[i] + 1;
  }
  return s;
}

// One tap, which reads its own pixel.
ConvShape WithoutPadding(ConvShape s) {
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = s.stride[i] = 1;
    s.pad[i] = 0;
    s.output[i] = s.input[i];
  }
  return s;
}

// The sum over batch and output positions of dY times what the window's tap reads.
// Large enough for Winograd's tiles to take less time.
ConvShape DrawWinograd(std::mt19937& random) {
  ConvShape s = {.batch = Draw(random, 1, 3),
                 .channels = Draw(random, 16, 40),
                 .filters = Draw(random, 16, 70),
                 .group = 1,
                 .input = {Draw(random, 5, 30), Draw(random, 5, 30)},
                 .kernel = {3, 3},
                 .stride = {1, 1},
                 .dilation = {1, 1},
                 .pad = {Draw(random, 0, 3), Draw(random, 0, 3)},
                 .output = {}};
  for (int axis = 0; axis < 2; ++axis) s.output[axis] = s.input[axis] + 2 * s.pad[axis] - 2;
  return s;
}

Tensor WeightSums(const ConvShape& s, const Tensor& x, const Tensor& dy) {
  const int64_t channels = s.channels / s.group, filters = s.filters / s.group;
  Tensor dw(DType::kFloat32, {s.filters, channels, s.kernel[0], s.kernel[1]});
  float* to = dw.mutable_data<float>();
  for (int64_t f = 0; f < s.filters; ++f)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < s.kernel[0] * s.kernel[1]; ++t, ++to) {
        double sum = 0;
        for (int64_t n = 0; n < s.batch; ++n)
          for (int64_t p = 0; p < s.output[0] * s.output[1]; ++p) {
            const int64_t h =
                p / s.output[1] * s.stride[0] - s.pad[0] + t / s.kernel[1] * s.dilation[0];
            const int64_t w =
                p % s.output[1] * s.stride[1] - s.pad[1] + t % s.kernel[1] * s.dilation[1];
            if (h < 0 || w < 0 || h >= s.input[0] || w >= s.input[1]) continue;
            const int64_t channel = f / filters * channels + c;
            const int64_t at = ((n * s.channels + channel) * s.input[0] + h) * s.input[1] + w;
            sum += static_cast<double>(x.data<float>()[at]) *
                   static_cast<double>(
                       dy.data<float>()[(n * s.filters + f) * s.output[0] * s.output[1] + p]);
          }
        *to = static_cast<float>(sum);
      }
  return dw;
}

OpCase WeightCase(const ConvShape& s, const Tensor& x, const Tensor& dy) {
  const auto list = [](const int64_t* values) {
    return std::vector<int64_t>{values[0], values[1]};
  };
  OpCase op;
  op.name = "random";
  op.op = "ConvWeightGradient";
  op.domain = "onward";
  op.attributes = {{"kernel_shape", list(s.kernel)},
                   {"strides", list(s.stride)},
                   {"dilations", list(s.dilation)},
                   {"pads", list(s.pad)},
                   {"group", s.group}};
  op.inputs = {x, dy};
  op.expected = {WeightSums(s, x, dy)};
  op.rtol = op.atol = 3e-4;
  return op;
}

void ExpectWeightGradients(const ConvShape& s, std::mt19937& random) {
  const Dims x = {s.batch, s.channels, s.input[0], s.input[1]},
             dy = {s.batch, s.filters, s.output[0], s.output[1]};
  EXPECT_GT(ExpectFastKernels(WeightCase(s, RandomFloats(x, random), RandomFloats(dy, random))), 0);
  OpCase op = WeightCase(s, testing::RandomBFloats(x, random), testing::RandomBFloats(dy, random));
  const Tensor wide = op.inputs[0];
  const bool has_pairs = testing::NumBf16Targets() != 0;
  if (has_pairs) {
    EXPECT_GE(ExpectFastKernels(op, 0, Precision::kFast), 1);
  }
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {  // kept narrow, nothing lost
    op.inputs[0] = testing::Narrowed(wide, dtype);
    EXPECT_GT(ExpectFastKernels(op), 0);
    if (has_pairs) {
      EXPECT_GE(ExpectFastKernels(op, 0, Precision::kFast), 1);
    }
  }
}

TEST(ConvWeightGradientKernels, SumOverPositions) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    // Large ones are cut into pieces of an image, small ones take several images at a time.
    ConvShape s = DrawConv(random, i % 6 == 0 ? 90 : 12);
    if (i % 4 == 1) s.group = s.filters = s.channels;  // a filter per channel
    SCOPED_TRACE(absl::StrCat("seed 11, case ", i));
    ExpectWeightGradients(s, random);
  }
}

TEST(ConvWeightGradientKernels, ManyChannels) {
  std::mt19937 random(16);
  // More rows than are multiplied at a time; an odd number of positions; one tap.
  ExpectWeightGradients({3, 100, 70, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {7, 7}}, random);
  ExpectWeightGradients({2, 70, 80, 2, {9, 11}, {5, 3}, {2, 2}, {1, 1}, {2, 1}, {5, 6}}, random);
  ExpectWeightGradients({4, 330, 33, 1, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {5, 5}}, random);
}

TEST(ConvWeightGradientKernels, Winograd) {
  std::mt19937 random(20);
  int ran = 0;
  for (int i = 0; i < 60; ++i) {
    ConvShape s = DrawWinograd(random);
    if (i % 10 == 0) s.batch = 40;  // not all images at once
    const Tensor x = RandomFloats({s.batch, s.channels, s.input[0], s.input[1]}, random);
    const Tensor dy = RandomFloats({s.batch, s.filters, s.output[0], s.output[1]}, random);
    SCOPED_TRACE(absl::StrCat("seed 20, case ", i));
    OpCase op = WeightCase(s, x, dy);
    float largest = 0;
    for (const float sum : op.expected[0].span<float>()) largest = std::max(largest, std::abs(sum));
    op.rtol = 0, op.atol = 2e-5 * static_cast<double>(largest);
    ran += ExpectWinogradKernels(op, 0);
  }
  EXPECT_GE(ran, 60);
}

// Each element of X times each weight of its filter, added where the window puts it.
Tensor Spread(const ConvShape& s, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const int64_t size = s.input[0] * s.input[1], positions = s.output[0] * s.output[1];
  const int64_t channels = s.channels / s.group, taps = s.kernel[0] * s.kernel[1];
  std::vector<double> sums(static_cast<size_t>(s.batch * s.channels * size));
  for (int64_t plane = 0; plane < s.batch * s.channels; ++plane)
    std::fill_n(sums.begin() + plane * size, size,
                static_cast<double>(bias.data<float>()[plane % s.channels]));
  for (int64_t at = 0; at < x.num_elements(); ++at) {
    const int64_t n = at / (s.filters * positions), f = at / positions % s.filters;
    const int64_t p = at % positions, first = f / (s.filters / s.group) * channels;
    for (int64_t i = 0; i < channels * taps; ++i) {
      const int64_t t = i % taps, c = first + i / taps;
      const int64_t row =
          p / s.output[1] * s.stride[0] - s.pad[0] + t / s.kernel[1] * s.dilation[0];
      const int64_t column =
          p % s.output[1] * s.stride[1] - s.pad[1] + t % s.kernel[1] * s.dilation[1];
      if (row < 0 || column < 0 || row >= s.input[0] || column >= s.input[1]) continue;
      sums[static_cast<size_t>((n * s.channels + c) * size + row * s.input[1] + column)] +=
          static_cast<double>(x.data<float>()[at]) *
          static_cast<double>(w.data<float>()[f * channels * taps + i]);
    }
  }
  Tensor y(DType::kFloat32, {s.batch, s.channels, s.input[0], s.input[1]});
  std::copy(sums.begin(), sums.end(), y.mutable_data<float>());
  return y;
}

using DrawTensor = Tensor (*)(DimsView dims, std::mt19937& random);
Tensor AnyFloats(DimsView dims, std::mt19937& random) { return RandomFloats(dims, random); }

OpCase TransposeCase(const ConvShape& s, std::mt19937& random, DrawTensor draw) {
  const Tensor x = draw({s.batch, s.filters, s.output[0], s.output[1]}, random);
  const Tensor w = draw({s.filters, s.channels / s.group, s.kernel[0], s.kernel[1]}, random);
  const Tensor bias = RandomFloats({s.channels}, random);
  OpCase op;
  op.name = "random";
  op.op = "ConvTranspose";
  const auto pair = [](const int64_t* values) {
    return std::vector<int64_t>{values[0], values[1]};
  };
  std::vector<int64_t> pads = pair(s.pad), rest;  // of the image, which no window reaches
  for (int axis = 0; axis < 2; ++axis) {
    pads.push_back(s.pad[axis]);
    rest.push_back(s.input[axis] + 2 * s.pad[axis] - (s.kernel[axis] - 1) * s.dilation[axis] - 1 -
                   (s.output[axis] - 1) * s.stride[axis]);
  }
  op.attributes = {{"strides", pair(s.stride)},
                   {"dilations", pair(s.dilation)},
                   {"pads", pads},
                   {"output_padding", rest},
                   {"group", s.group}};
  op.inputs = {x, w, bias};
  op.expected = {Spread(s, x, w, bias)};
  op.rtol = op.atol = 1e-4;
  return op;
}

TEST(ConvTransposeKernels, OfAFilterPerChannel) {
  std::mt19937 random(15);
  for (int i = 0; i < 60; ++i) {
    ConvShape s = DrawConv(random, i % 6 == 0 ? 90 : 12);
    s.channels = s.group = s.filters = Draw(random, 2, 40);
    SCOPED_TRACE(absl::StrCat("seed 15, case ", i));
    EXPECT_GT(ExpectFastKernels(TransposeCase(s, random, AnyFloats), 2), 2);
  }
}

TEST(ConvTransposeKernels, AddWhatWindowsReach) {
  std::mt19937 random(17);
  for (int i = 0; i < 100; ++i) {
    ConvShape s = DrawConv(random, i % 10 == 0 ? 60 : 12);
    s.channels = s.group * Draw(random, 8, 40);
    if (i % 3 == 0) s = WithoutPadding(s);
    SCOPED_TRACE(absl::StrCat("seed 17, case ", i));
    EXPECT_GT(ExpectFastKernels(TransposeCase(s, random, AnyFloats), 2), 2);
    if (testing::NumBf16Targets() == 0) continue;
    EXPECT_EQ(
        ExpectFastKernels(TransposeCase(s, random, testing::RandomBFloats), 2, Precision::kFast),
        2 * testing::NumBf16Targets());
  }
}

TEST(ConvTransposeKernels, Winograd) {
  std::mt19937 random(19);
  int ran = 0;
  for (int i = 0; i < 60; ++i) {
    const ConvShape s = DrawWinograd(random);
    SCOPED_TRACE(absl::StrCat("seed 19, case ", i));
    ran += ExpectWinogradKernels(TransposeCase(s, random, AnyFloats), i % 2 == 0 ? 0 : 2);
  }
  EXPECT_GE(ran, 60);
}

TEST(ConvTransposeKernels, DeepSumsAreCutIntoBlocks) {
  if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  std::mt19937 random(18);
  const ConvShape same = {3, 40, 300, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {7, 7}};
  const ConvShape halved = {2, 70, 260, 1, {13, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {7, 7}};
  const ConvShape points = {2, 60, 1100, 1, {5, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {5, 9}};
  for (const ConvShape& s : {same, halved, points}) {
    OpCase c = TransposeCase(s, random, testing::RandomBFloats);
    c.atol = 1e-3;
    EXPECT_EQ(ExpectFastKernels(c, 2, Precision::kFast), 2 * testing::NumBf16Targets());
  }
}

}  // namespace
}  // namespace onward::kernels
