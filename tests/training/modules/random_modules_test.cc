// What modules draw while they train, and that they draw nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "onward/builder.h"
#include "onward/nn/activation.h"
#include "onward/nn/dropout.h"
#include "onward/nn/fractional_max_pool.h"
#include "onward/nn/linear.h"
#include "onward/nn/normalization.h"
#include "onward/nn/spectral_norm.h"
#include "onward/session.h"
#include "training/gradient/gradient_model.h"
#include "training/prepare/mode.h"

namespace onward::training {
namespace {

Tensor Normal(DimsView dims) {
  Tensor tensor(DType::kFloat32, dims);
  std::mt19937 random(5);
  std::normal_distribution<float> draw;
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = draw(random);
  return tensor;
}

Model Of(const nn::Function& function, DimsView dims) {
  GraphBuilder builder("drawing");
  const SymbolicDims shape(dims.begin(), dims.end());
  builder.Output("y", function(builder.Input("x", Type::Tensor(DType::kFloat32, shape))));
  auto model = builder.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// The outputs of two runs on x.
std::vector<Session::Outputs> RunTwice(Model model, const Session::Inputs& inputs) {
  auto session = Session::Create(std::move(model));
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<Session::Outputs> results;
  for (int i = 0; i < 2; ++i) {
    auto outputs = (*session)->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    results.push_back(*std::move(outputs));
  }
  return results;
}

// Of rising numbers a window's maximum is its end: ends rise, by the window at most, to the last.
TEST(RandomModules, FractionalMaxPoolDrawsWindows) {
  Tensor x(DType::kFloat32, {40, 1, 1, 17});
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = static_cast<float>(i % 17);
  const auto pool = [](const Expr& e) {
    return nn::FractionalMaxPool{nn::Sizes{1, 2}, {1, 10}}(e);
  };
  const auto runs = RunTwice(Of(pool, x.dims()), {{"x", x}});
  const Tensor &y = runs[0].at("y").tensor(), &other = runs[1].at("y").tensor();
  ASSERT_EQ(y.dims(), DimsView({40, 1, 1, 10}));
  EXPECT_FALSE(SameBits(y, other));
  for (int64_t row = 0; row < 40; ++row) {
    const float* ends = y.data<float>() + row * 10;
    EXPECT_EQ(ends[9], 16);
    EXPECT_EQ(ends[0], 1);
    for (int64_t i = 1; i < 10; ++i) {
      EXPECT_GE(ends[i] - ends[i - 1], 1);
      EXPECT_LE(ends[i] - ends[i - 1], 2);
    }
  }
}

TEST(RandomModules, RReluDrawsSlopes) {
  const Tensor x = Normal({100, 50});
  Model model = Of(nn::RReLU{0.1, 0.4}, x.dims());
  ASSERT_TRUE(SetTrainingMode(model).ok());
  GradientModelOptions options;
  options.of = {"y"};
  options.wrt = {"x"};
  ASSERT_TRUE(MakeGradientModel(model, options).ok());
  Tensor ones(DType::kFloat32, x.dims());
  std::fill_n(ones.mutable_data<float>(), ones.num_elements(), 1.0f);
  const auto runs = RunTwice(std::move(model), {{"x", x}, {"grad/y", ones}});
  const float *y = runs[0].at("y").tensor().data<float>(),
              *slope = runs[0].at("grad/x").tensor().data<float>(),
              *other = runs[1].at("grad/x").tensor().data<float>();
  double sum = 0, squares = 0, differ = 0, count = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const float value = x.data<float>()[i];
    EXPECT_EQ(y[i], slope[i] * value) << i;
    if (value > 0) {
      EXPECT_EQ(slope[i], 1);
      continue;
    }
    EXPECT_GE(slope[i], 0.1f);
    EXPECT_LE(slope[i], 0.4f);
    ++count;
    sum += slope[i];
    squares += slope[i] * slope[i];
    differ += slope[i] != other[i];
  }
  // Uniform: mean 0.25, variance 0.3^2 / 12.
  EXPECT_NEAR(sum / count, 0.25, 0.01);
  EXPECT_NEAR(squares / count - std::pow(sum / count, 2), 0.0075, 0.0005);
  EXPECT_GT(differ, 0.9 * count);
}

// Each element is a x + b, or the same of SELU's least value -1.758...; mean and variance stay.
TEST(RandomModules, AlphaDropoutKeepsMeanAndVariance) {
  const double p = 0.3, alpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p)), b = a * alpha * p;
  const Tensor x = Normal({40, 20, 25});
  for (const bool features : {false, true}) {
    SCOPED_TRACE(features);
    Model model =
        features ? Of(nn::FeatureAlphaDropout{p}, x.dims()) : Of(nn::AlphaDropout{p}, x.dims());
    ASSERT_TRUE(SetTrainingMode(model).ok());
    const auto runs = RunTwice(model, {{"x", x}});
    const float* y = runs[0].at("y").tensor().data<float>();
    double sum = 0, squares = 0, dropped = 0;
    const auto n = static_cast<double>(x.num_elements());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const bool is_dropped = std::fabs(y[i] - (b - a * alpha)) < 1e-5;
      if (!is_dropped) {
        EXPECT_NEAR(y[i], a * x.data<float>()[i] + b, 1e-5) << i;
      }
      const bool first_is = std::fabs(y[i / 25 * 25] - (b - a * alpha)) < 1e-5;
      EXPECT_TRUE(!features || is_dropped == first_is);
      dropped += is_dropped;
      sum += y[i];
      squares += y[i] * y[i];
    }
    EXPECT_NEAR(dropped / n, p, features ? 0.06 : 0.015);
    EXPECT_NEAR(sum / n, 0, features ? 0.15 : 0.03);
    EXPECT_NEAR(squares / n, 1, features ? 0.15 : 0.04);
    // In inference form it is nothing again.
    ASSERT_TRUE(SetInferenceMode(model).ok());
    const auto still = RunTwice(std::move(model), {{"x", x}});
    EXPECT_EQ(still[0].at("y").tensor().data<float>()[7], x.data<float>()[7]);
  }
}

// Training and back: the running statistics of what was seen are the inference form's.
TEST(RandomModules, TrackedInstanceNormGoesBackToInference) {
  GraphBuilder builder("tracked");
  nn::Module root(builder);
  const Expr x = builder.Input("x", DType::kFloat32, {2, 3, 5});
  nn::InstanceNormOptions options;
  options.track_running_stats = true;
  builder.Output("y", nn::InstanceNorm1d(root, "norm", 3, options)(x));
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto change = SetTrainingMode(*model);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->batch_normalizations, 1);
  EXPECT_EQ(model->updates.size(), 2u);
  const auto back = SetInferenceMode(*model);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->batch_normalizations, 1);
  EXPECT_TRUE(model->updates.empty());
  EXPECT_EQ(model->graph.inputs().size(), 1u);
  const Tensor given = Normal({2, 3, 5});
  const auto runs = RunTwice(*std::move(model), {{"x", given}});
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_NEAR(runs[0].at("y").tensor().data<float>()[i],
                given.data<float>()[i] / std::sqrt(1 + 1e-5), 1e-6);
  }
}

// Training's vectors are the inference form's when it is back; at the start sigma is already close.
TEST(RandomModules, SpectralNormGoesBackToInference) {
  GraphBuilder builder("spectral");
  nn::Module root(builder);
  const Expr x = builder.Input("x", DType::kFloat32, {3, 6});
  nn::Linear linear(root, "fc", 6, 6, {.bias = false});
  nn::SpectralNorm(linear, linear.weight);
  builder.Output("y", linear(x));
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const Tensor given = Normal({3, 6});
  const auto before = RunTwice(*model, {{"x", given}});
  const auto change = SetTrainingMode(*model);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->spectral_norms, 1);
  EXPECT_EQ(model->updates.size(), 2u);
  const auto trained = RunTwice(*model, {{"x", given}});
  const auto back = SetInferenceMode(*model);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->spectral_norms, 1);
  EXPECT_TRUE(model->updates.empty());
  const auto after = RunTwice(*std::move(model), {{"x", given}});
  for (int64_t i = 0; i < 18; ++i) {
    const float want = before[0].at("y").tensor().data<float>()[i];
    EXPECT_EQ(after[0].at("y").tensor().data<float>()[i], want);
    EXPECT_NEAR(trained[0].at("y").tensor().data<float>()[i], want, 0.02 * std::fabs(want));
  }
}

}  // namespace
}  // namespace onward::training
