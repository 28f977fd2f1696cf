// The kernels of graph/gradients on every instruction set against sums in double, of random shapes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/simd/gemm_tile.h"
#include "tests/support/fast_kernels.h"

namespace onward {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
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

// The sum over batch and output positions of dY times what the window's tap reads.
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
  if (cpu::BFloat16Tiles() == nullptr) return;
  EXPECT_GE(ExpectFastKernels(WeightCase(s, testing::RandomBFloats(x, random),
                                         testing::RandomBFloats(dy, random)),
                              0, Precision::kFast),
            1);
}

TEST(GradientKernels, ConvWeightGradientIsTheSumOverPositions) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    // Large ones are cut into pieces of an image, small ones take several images at a time.
    ConvShape s = DrawConv(random, i % 6 == 0 ? 90 : 12);
    if (i % 4 == 1) s.group = s.filters = s.channels;  // a filter per channel
    SCOPED_TRACE(absl::StrCat("seed 11, case ", i));
    ExpectWeightGradients(s, random);
  }
}

TEST(GradientKernels, ConvWeightGradientOfManyChannels) {
  std::mt19937 random(16);
  // More rows than are multiplied at a time; an odd number of positions; one tap.
  ExpectWeightGradients({3, 100, 70, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {7, 7}}, random);
  ExpectWeightGradients({2, 70, 80, 2, {9, 11}, {5, 3}, {2, 2}, {1, 1}, {2, 1}, {5, 6}}, random);
  ExpectWeightGradients({4, 330, 33, 1, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {5, 5}}, random);
}

// Each element of X times each weight of its channel's filter, added where the window puts it.
Tensor Spread(const ConvShape& s, const Tensor& x, const Tensor& w, const Tensor& bias) {
  Tensor y(DType::kFloat32, {s.batch, s.channels, s.input[0], s.input[1]});
  for (int64_t plane = 0; plane < s.batch * s.channels; ++plane) {
    const int64_t channel = plane % s.channels, size = s.input[0] * s.input[1];
    std::vector<double> sums(static_cast<size_t>(size),
                             static_cast<double>(bias.data<float>()[channel]));
    for (int64_t p = 0; p < s.output[0] * s.output[1]; ++p)
      for (int64_t t = 0; t < s.kernel[0] * s.kernel[1]; ++t) {
        const int64_t row =
            p / s.output[1] * s.stride[0] - s.pad[0] + t / s.kernel[1] * s.dilation[0];
        const int64_t column =
            p % s.output[1] * s.stride[1] - s.pad[1] + t % s.kernel[1] * s.dilation[1];
        if (row < 0 || column < 0 || row >= s.input[0] || column >= s.input[1]) continue;
        sums[static_cast<size_t>(row * s.input[1] + column)] +=
            static_cast<double>(x.data<float>()[plane * s.output[0] * s.output[1] + p]) *
            static_cast<double>(w.data<float>()[channel * s.kernel[0] * s.kernel[1] + t]);
      }
    std::copy(sums.begin(), sums.end(), y.mutable_data<float>() + plane * size);
  }
  return y;
}

TEST(GradientKernels, ConvTransposeOfAFilterPerChannel) {
  std::mt19937 random(15);
  for (int i = 0; i < 60; ++i) {
    ConvShape s = DrawConv(random, i % 6 == 0 ? 90 : 12);
    s.channels = s.group = s.filters = Draw(random, 2, 40);
    SCOPED_TRACE(absl::StrCat("seed 15, case ", i));
    const Tensor x = RandomFloats({s.batch, s.channels, s.output[0], s.output[1]}, random);
    const Tensor w = RandomFloats({s.channels, 1, s.kernel[0], s.kernel[1]}, random);
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
    EXPECT_GT(ExpectFastKernels(op), 2);
  }
}

TEST(GradientKernels, BatchNormalizationGradientIsTheFormulas) {
  std::mt19937 random(12);
  for (int round = 0; round < 12; ++round) {
    const int64_t n = Draw(random, 1, 5), c = Draw(random, 1, 6), size = Draw(random, 1, 700);
    if (n * size < 4) continue;
    const Tensor x = RandomFloats({n, c, size}, random), dy = RandomFloats({n, c, size}, random),
                 scale = RandomFloats({c}, random);
    Tensor dx(DType::kFloat32, {n, c, size}), dscale(DType::kFloat32, {c}),
        shift(DType::kFloat32, {c});
    const double count = static_cast<double>(n * size);
    for (int64_t channel = 0; channel < c; ++channel) {
      double mean = 0, variance = 0, sum = 0, product = 0;
      const auto each = [&](auto&& f) {
        for (int64_t b = 0; b < n; ++b)
          for (int64_t i = 0; i < size; ++i) {
            const int64_t at = (b * c + channel) * size + i;
            f(at, static_cast<double>(x.data<float>()[at]),
              static_cast<double>(dy.data<float>()[at]));
          }
      };
      each([&](int64_t, double v, double) { mean += v / count; });
      each([&](int64_t, double v, double) { variance += (v - mean) * (v - mean) / count; });
      const double inverse = 1 / std::sqrt(variance + 1e-3);
      each([&](int64_t, double v, double g) {
        sum += g;
        product += g * (v - mean) * inverse;
      });
      const double a = static_cast<double>(scale.data<float>()[channel]);
      each([&](int64_t at, double v, double g) {
        dx.mutable_data<float>()[at] = static_cast<float>(
            a * inverse * (g - sum / count - (v - mean) * inverse * product / count));
      });
      dscale.mutable_data<float>()[channel] = static_cast<float>(product);
      shift.mutable_data<float>()[channel] = static_cast<float>(sum);
    }
    OpCase op;
    op.name = "random";
    op.op = "BatchNormalizationGradient";
    op.domain = "onward";
    op.attributes = {{"epsilon", 1e-3f}};
    op.inputs = {x, scale, dy};
    op.expected = {dx, dscale, shift};
    op.rtol = op.atol = 2e-4;
    EXPECT_GT(ExpectFastKernels(op), 0);
  }
}

struct LossShape {
  int64_t batch, classes, positions;
};

// Of one label: the logarithm of the sum of exp(score).
double Normalizer(const LossShape& s, const Tensor& scores, int64_t batch, int64_t position) {
  double sum = 0;
  for (int64_t c = 0; c < s.classes; ++c)
    sum += std::exp(static_cast<double>(
        scores.data<float>()[(batch * s.classes + c) * s.positions + position]));
  return std::log(sum);
}

TEST(GradientKernels, CrossEntropyAndItsGradientAreSumsInDouble) {
  std::mt19937 random(14);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(absl::StrCat("seed 14, round ", round));
    const LossShape s = {Draw(random, 1, 5), Draw(random, 1, round % 4 == 0 ? 9000 : 70),
                         round % 2 == 0 ? 1 : Draw(random, 2, 150)};
    const Tensor scores = RandomFloats({s.batch, s.classes, s.positions}, random, -9, 9);
    const Tensor dy = RandomFloats({s.batch, s.positions}, random);
    const Tensor weights = RandomFloats({s.classes}, random, 0.1f, 2);
    Tensor labels(DType::kInt64, {s.batch, s.positions}), losses(DType::kFloat32, labels.dims()),
        log_prob(DType::kFloat32, scores.dims()), dx(DType::kFloat32, scores.dims());
    for (int64_t i = 0; i < s.batch * s.positions; ++i) {
      const int64_t label = Draw(random, 0, s.classes - 1);
      const double normalizer = Normalizer(s, scores, i / s.positions, i % s.positions);
      labels.mutable_data<int64_t>()[i] = label;
      for (int64_t c = 0; c < s.classes; ++c) {
        const int64_t at = (i / s.positions * s.classes + c) * s.positions + i % s.positions;
        const double log_probability = static_cast<double>(scores.data<float>()[at]) - normalizer;
        log_prob.mutable_data<float>()[at] = static_cast<float>(log_probability);
        dx.mutable_data<float>()[at] =
            static_cast<float>(static_cast<double>(dy.data<float>()[i]) *
                               (std::exp(log_probability) - (c == label ? 1 : 0)));
        if (c == label)
          losses.mutable_data<float>()[i] = static_cast<float>(
              -log_probability * static_cast<double>(weights.data<float>()[label]));
      }
    }
    OpCase op;
    op.name = "random";
    op.op = "SoftmaxCrossEntropyLoss";
    op.attributes = {{"reduction", std::string("none")}};
    op.inputs = {scores, labels, weights};
    op.expected = {losses};
    op.rtol = op.atol = 2e-5;
    EXPECT_GT(ExpectFastKernels(op), 0);
    op.expected = {losses, log_prob};
    EXPECT_GT(ExpectFastKernels(op), 0);
    op.op = "SoftmaxCrossEntropyLossGradient";
    op.domain = "onward";
    op.attributes = {};
    op.inputs = {scores, labels, dy};
    op.expected = {dx};
    EXPECT_GT(ExpectFastKernels(op), 0);
  }
}

TEST(GradientKernels, MaxPoolGradientTakesTheFirstLargestAndNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OpCase op;
  op.name = "ties";
  op.op = "MaxPoolGradient";
  op.domain = "onward";
  op.attributes = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                   {"strides", std::vector<int64_t>{1, 2}},
                   {"pads", std::vector<int64_t>{0, 1, 0, 0}}};
  op.inputs = {Tensor::Of<float>({1, 1, 3, 3}, {1, 1, 5, 1, nan, 5, 2, 7, nan}),
               Tensor::Of<float>({1, 1, 2, 2}, {1, 2, 4, 8})};
  // Windows: {1, 1}, {1, 5, nan, 5}, {1, 2}, {nan, 5, 7, nan}.
  op.expected = {Tensor::Of<float>({1, 1, 3, 3}, {1, 0, 0, 0, 10, 0, 4, 0, 0})};
  EXPECT_GT(ExpectFastKernels(op), 0);
}

}  // namespace
}  // namespace onward
