// The kernels of graph/gradients on every instruction set against sums in double, of random shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomFloats;

int64_t Draw(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

TEST(GradientKernels, BatchNormalizationGradientIsTheFormulas) {
  std::mt19937 random(12);
  for (int round = 0; round < 12; ++round) {
    const int64_t n = Draw(random, 1, 5), c = Draw(random, 1, 6), size = Draw(random, 1, 700);
    if (n * size < 4) continue;
    const Tensor x = testing::RandomBFloats({n, c, size}, random),
                 dy = RandomFloats({n, c, size}, random), scale = RandomFloats({c}, random);
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
    for (const DType kept : {DType::kBFloat16, DType::kFloat16}) {
      op.inputs[0] = testing::Narrowed(x, kept);
      EXPECT_GT(ExpectFastKernels(op), 0);
    }
  }
}

TEST(GradientKernels, ActivationsThatAreKeptNarrow) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = Tensor::Of<float>({9}, {-1, -0.0f, 0, 0.5, 3, 6, inf, -inf, nan});
  const Tensor dy = Tensor::Of<float>({9}, {1.1f, 2.2f, 3.3f, 4.4f, 5.5f, 6.6f, 7.7f, 8.8f, 9.9f});
  OpCase op = {"relu",   "ReluGradient",
               "onward", {},
               {y, dy},  {Tensor::Of<float>({9}, {0, 0, 0, 4.4f, 5.5f, 6.6f, 7.7f, 0, 0})}};
  op.rtol = op.atol = 0;
  for (const DType kept : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    op.inputs[0] = kept == DType::kFloat32 ? y : testing::Narrowed(y, kept);
    EXPECT_EQ(ExpectFastKernels(op), 1);
  }
  op.op = "ClipGradient";
  op.inputs.push_back(Tensor::Of<float>({}, {0}));
  op.inputs.push_back(Tensor::Of<float>({}, {6}));
  op.expected = {Tensor::Of<float>({9}, {0, 0, 0, 4.4f, 5.5f, 0, 0, 0, 0})};
  for (const DType kept : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    op.inputs[0] = kept == DType::kFloat32 ? y : testing::Narrowed(y, kept);
    EXPECT_EQ(ExpectFastKernels(op), 1);
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
  const Tensor x = op.inputs[0];
  for (const DType kept : {DType::kBFloat16, DType::kFloat16}) {
    op.inputs[0] = testing::Narrowed(x, kept);
    EXPECT_GT(ExpectFastKernels(op), 0);
  }
}

// Windows of 2 x 2 beside each other, some beyond a plane's last row and column, with ties and NaN.
TEST(GradientKernels, MaxPoolGradientOfSquares) {
  std::mt19937 random(19);
  for (int round = 0; round < 40; ++round) {
    const int64_t h = Draw(random, 2, 9), w = Draw(random, 2, 90), oh = h / 2, ow = w / 2;
    SCOPED_TRACE(absl::StrCat("seed 19, ", h, "x", w));
    Tensor x(DType::kFloat32, {2, 3, h, w}), dx(DType::kFloat32, x.dims());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.mutable_data<float>()[i] = static_cast<float>(Draw(random, -2, 2));
      if (Draw(random, 0, 19) == 0)
        x.mutable_data<float>()[i] = std::numeric_limits<float>::quiet_NaN();
      if (Draw(random, 0, 9) == 0)
        x.mutable_data<float>()[i] = -std::numeric_limits<float>::infinity();
    }
    const Tensor dy = RandomFloats({2, 3, oh, ow}, random);
    std::fill_n(dx.mutable_data<float>(), dx.num_elements(), 0.0f);
    for (int64_t i = 0; i < dy.num_elements(); ++i) {
      const int64_t corner = i / (oh * ow) * h * w + i / ow % oh * 2 * w + i % ow * 2;
      int64_t largest = corner;
      for (const int64_t at : {corner + 1, corner + w, corner + w + 1}) {
        const float value = x.data<float>()[at], before = x.data<float>()[largest];
        if (!std::isnan(before) && (std::isnan(value) || value > before)) largest = at;
      }
      dx.mutable_data<float>()[largest] = dy.data<float>()[i];
    }
    const std::vector<int64_t> two = {2, 2};
    OpCase op = {"squares", "MaxPoolGradient",
                 "onward",  {{"kernel_shape", two}, {"strides", two}},
                 {x, dy},   {dx}};
    op.rtol = op.atol = 0;
    EXPECT_GE(ExpectFastKernels(op), 2);
    op.inputs[0] = testing::Narrowed(x, DType::kBFloat16);
    EXPECT_GE(ExpectFastKernels(op), 2);
  }
}

}  // namespace
}  // namespace onward::kernels
