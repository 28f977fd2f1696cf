// Trainings on the device: their state stays there, and losses and weights are the CPU's.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/builder.h"
#include "onward/stepwise_trainer.h"
#include "tests/emulated_cuda/device.h"
#include "tests/support/kernel_runner.h"

namespace onward::emulated_cuda {
namespace {

using namespace expr;  // NOLINT: models as formulas
using Batch = StepwiseTrainer::Batch;

Tensor Numbers(const Dims& dims, int64_t seed, double scale) {
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] =
        static_cast<float>(((i * 7 + seed) * 37 % 101 - 50) / 50.0 * scale);
  return tensor;
}

// A convolution with its normalization, and two layers.
Model Network() {
  GraphBuilder b("network");
  const Expr x = b.Input("x", DType::kFloat32, {"batch", 1, 6, 6});
  const auto weight = [&](const char* name, const Dims& dims, int64_t seed) {
    return b.Constant(Numbers(dims, seed, 0.5), name);
  };
  Expr y = Op("Conv", {x, weight("conv", {4, 1, 3, 3}, 1), weight("conv_bias", {4}, 2)});
  y = Op("LayerNormalization",
         {Reshape(Relu(y), {0, -1}), weight("scale", {64}, 3), weight("shift", {64}, 4)});
  y = Tanh(MatMul(y, weight("first", {64, 10}, 5)) + weight("first_bias", {10}, 6));
  b.Output("scores", MatMul(y, weight("second", {10, 3}, 7)));
  auto model = b.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// A network that trains otherwise than it runs: by statistics of the batch, and with numbers that
// are drawn.
Model NormalizedNetwork() {
  GraphBuilder b("network");
  const Expr x = b.Input("x", DType::kFloat32, {"batch", 1, 6, 6});
  const auto weight = [&](const char* name, const Dims& dims, int64_t seed) {
    return b.Constant(Numbers(dims, seed, 0.5), name);
  };
  Expr y = Op("Conv", {x, weight("conv", {4, 1, 3, 3}, 1)});
  Tensor variance(DType::kFloat32, {4});
  for (int i = 0; i < 4; ++i) variance.mutable_data<float>()[i] = 1;
  y = Op("BatchNormalization", {y, weight("scale", {4}, 3), weight("shift", {4}, 4),
                                weight("mean", {4}, 5), b.Constant(variance, "variance")});
  y = Op("Dropout", {Reshape(Relu(y), {0, -1}), b.Constant(Tensor::Of<float>({}, {0.25f}))});
  b.Output("scores", MatMul(y, weight("second", {64, 3}, 7)));
  auto model = b.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// A block of a transformer over six positions of sixteen numbers, with two heads of queries to one
// of keys.
Model Transformer() {
  GraphBuilder b("network");
  const Expr x = b.Input("x", DType::kFloat32, {"batch", 1, 6, 6});
  const auto weight = [&](const char* name, const Dims& dims, int64_t seed) {
    return b.Constant(Numbers(dims, seed, 0.5), name);
  };
  const Expr tokens = MatMul(Reshape(x, {0, 6, 6}), weight("embed", {6, 16}, 1));
  const Expr heads =
      Op("Attention",
         {MatMul(tokens, weight("q", {16, 16}, 2)), MatMul(tokens, weight("k", {16, 8}, 3)),
          MatMul(tokens, weight("v", {16, 8}, 4))},
         {{"is_causal", int64_t{1}}, {"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}});
  const Expr sum = tokens + MatMul(heads, weight("out", {16, 16}, 5));
  const Expr y =
      Op("LayerNormalization", {sum, weight("scale", {16}, 6), weight("shift", {16}, 7)});
  b.Output("scores", MatMul(Reshape(y, {0, -1}), weight("second", {96, 3}, 8)));
  auto model = b.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

Batch BatchOf(int64_t step) {
  Tensor label(DType::kInt64, {5});
  for (int64_t i = 0; i < 5; ++i) label.mutable_data<int64_t>()[i] = (i + step) % 3;
  return {{"x", Numbers({5, 1, 6, 6}, step % 4, 1)}, {"label", label}};
}

std::unique_ptr<StepwiseTrainer> TrainerOn(const std::string& provider, const std::string& more,
                                           Model (*network)() = Network) {
  const auto config = ParseTrainConfig(
      absl::StrCat("loss { cross_entropy {} } provider: \"", provider, "\" threads: 1 ", more));
  EXPECT_TRUE(config.ok()) << config.status();
  auto trainer =
      StepwiseTrainer::Create(network(), *config, {{"label", Type::Tensor(DType::kInt64, Dims{})}});
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  return trainer.ok() ? *std::move(trainer) : nullptr;
}

class DeviceTrainingTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { Configure({.order = Order::kLate}); }
  void TearDown() override { Configure({}); }
};

void ExpectFiftyEqualLosses(StepwiseTrainer* device, StepwiseTrainer* host) {
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (int64_t step = 0; step < 50; ++step) {
    SCOPED_TRACE(step);
    const auto actual = device->Step(BatchOf(step)), expected = host->Step(BatchOf(step));
    ASSERT_TRUE(actual.ok() && expected.ok()) << actual.status() << expected.status();
    ASSERT_NEAR(*actual, *expected, 2e-4 * (1 + std::abs(*expected)));
  }
  EXPECT_NEAR(*device->Loss(BatchOf(1)), *host->Loss(BatchOf(1)), 1e-3);
  for (const std::string& name : host->state_names()) {
    const auto actual = device->State(name), expected = host->State(name);
    ASSERT_TRUE(actual.ok() && expected.ok()) << actual.status() << expected.status();
    EXPECT_EQ(testing::Difference(*actual, *expected, 1e-2, 2e-3), "") << name;
  }
}

TEST_P(DeviceTrainingTest, FiftyLossesAreTheCpus) {
  ExpectFiftyEqualLosses(TrainerOn("cuda", GetParam()).get(), TrainerOn("cpu", GetParam()).get());
}

TEST(DeviceTraining, NormalizesAndDropsAsTheCpu) {
  Configure({.order = Order::kLate});
  const char* const optimizer = "optimizer { sgd { lr: 0.05 momentum: 0.9 } }";
  ExpectFiftyEqualLosses(TrainerOn("cuda", optimizer, NormalizedNetwork).get(),
                         TrainerOn("cpu", optimizer, NormalizedNetwork).get());
  Configure({});
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, DeviceTrainingTest,
    ::testing::Values(
        "optimizer { sgd { lr: 0.05 momentum: 0.9 } }",
        "optimizer { adamw { lr: 0.003 weight_decay: 0.01 } } clip { global_norm: 1 }",
        "optimizer { adam { lr: 0.003 } } accumulate: 2 average { decay: 0.9 }",
        "optimizer { sgd { lr: 0.05 } } non_finite: SKIP"));

TEST(DeviceTraining, AStepSendsTheBatchAndFetchesTheLoss) {
  Configure({.order = Order::kLate});
  for (const auto network : {Network, NormalizedNetwork}) {
    const auto trainer = TrainerOn("cuda", "optimizer { sgd { lr: 0.05 momentum: 0.9 } }", network);
    ASSERT_NE(trainer, nullptr);
    for (int64_t step = 0; step < 4; ++step) ASSERT_TRUE(trainer->Step(BatchOf(step)).ok());
    ResetCounters();
    ASSERT_TRUE(trainer->Step(BatchOf(4)).ok());
    const Counters counted = Counted();
    EXPECT_EQ(counted.allocations, 0);
    EXPECT_EQ(counted.graphs, 0);
    EXPECT_EQ(counted.graph_launches, 1) << "the whole step, with what it draws";
    EXPECT_EQ(counted.compilations, 0);
    EXPECT_LE(counted.copies_to_device, 3) << "data, labels, settings of the optimizer";
    EXPECT_EQ(counted.copies_to_host, 1) << "the loss";
  }
  Configure({});
}

// Attention and its gradient are one call of cuDNN and two. The loss is scaled so that no step is
// skipped: the CPU, which keeps float32 between ops, skips others.
class DeviceTransformerTest : public ::testing::TestWithParam<std::tuple<const char*, Order>> {
 protected:
  void TearDown() override { Configure({}); }
};

TEST_P(DeviceTransformerTest, TrainsAsTheCpuInOneLaunch) {
  const auto [precision, order] = GetParam();
  const std::string config =
      absl::StrCat("optimizer { sgd { lr: 0.01 } } precision { autocast: ", precision, " }");
  const auto host = TrainerOn("cpu", config, Transformer);
  Configure({.order = order});
  const auto device = TrainerOn("cuda", config, Transformer);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  ResetCounters();
  for (int64_t step = 0; step < 50; ++step) {
    SCOPED_TRACE(step);
    const auto actual = device->Step(BatchOf(step)), expected = host->Step(BatchOf(step));
    ASSERT_TRUE(actual.ok() && expected.ok()) << actual.status() << expected.status();
    ASSERT_NEAR(*actual, *expected, 2e-2 * (1 + std::abs(*expected)));
    if (step == 0) {
      EXPECT_EQ(Counted().attentions, 3);
    }
    if (step == 48) ResetCounters();
  }
  EXPECT_EQ(Counted().graph_launches, 1);
  EXPECT_EQ(Counted().attentions, 0) << "recorded";
}

INSTANTIATE_TEST_SUITE_P(
    Precisions, DeviceTransformerTest,
    ::testing::Combine(::testing::Values("BFLOAT16", "FLOAT16 loss_scale: 256"),
                       ::testing::Values(Order::kEager, Order::kLate, Order::kRandom)));

TEST(DeviceTraining, OfATransformerInFloat32) {
  Configure({.order = Order::kLate});
  const char* const optimizer = "optimizer { sgd { lr: 0.01 } }";
  ResetCounters();
  ExpectFiftyEqualLosses(TrainerOn("cuda", optimizer, Transformer).get(),
                         TrainerOn("cpu", optimizer, Transformer).get());
  EXPECT_EQ(Counted().attentions, 0) << "by tiles";
  Configure({});
}

// A checkpoint of the device is one of the CPU, and the other way round.
TEST(DeviceTraining, CheckpointsFitBoth) {
  Configure({});
  const std::string directory = ::testing::TempDir() + "/device_training_checkpoints";
  const char* const optimizer = "optimizer { adamw { lr: 0.01 } }";
  const auto device = TrainerOn("cuda", optimizer), host = TrainerOn("cpu", optimizer);
  for (int64_t step = 0; step < 3; ++step) ASSERT_TRUE(device->Step(BatchOf(step)).ok());
  ASSERT_TRUE(device->SaveCheckpoint(directory).ok());
  ASSERT_TRUE(host->RestoreCheckpoint(directory).ok());
  EXPECT_EQ(host->steps_done(), 3);
  EXPECT_NEAR(*host->Step(BatchOf(3)), *device->Step(BatchOf(3)), 1e-4);
}

}  // namespace
}  // namespace onward::emulated_cuda
