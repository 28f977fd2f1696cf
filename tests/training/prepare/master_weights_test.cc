// Weights in 16 bits are trained as float32 masters.
#include "training/prepare/master_weights.h"

#include <cmath>

#include "onward/import.h"
#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::TrainerTest;

template <typename T>
Tensor Ones(DType dtype, int64_t size) {
  Tensor tensor(dtype, {size});
  for (int64_t i = 0; i < size; ++i) tensor.mutable_data<T>()[i] = T(1.0f);
  return tensor;
}

// The loss is the sum of the weights: each gradient is 1.
template <typename T>
absl::StatusOr<Model> Sum(DType dtype) {
  GraphBuilder builder("sum");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, 6, 6});
  const Expr zero = ReduceSum(image, {}, false) * image.sink()->Scalar(0.0, DType::kFloat32);
  builder.Output("loss", ReduceSum(builder.Constant(Ones<T>(dtype, 2), "m.weight"), {}, false) +
                             Cast(zero, dtype));
  return builder.Build();
}

class MasterWeightsTest : public TrainerTest {
 protected:
  template <typename T>
  void Write(DType dtype) {
    const auto model = Sum<T>(dtype);
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(ExportFile(*model, scratch_.path() + "/sum.onnx").ok());
  }
  TrainConfig SumConfig(const std::string& more) {
    TrainConfig config = Config(more);
    config.set_model("sum.onnx");
    config.mutable_loss()->Clear();
    config.mutable_loss()->mutable_from_model();
    config.clear_evaluation();
    config.mutable_optimizer()->mutable_sgd()->set_lr(1e-4);
    return config;
  }
};

// 100 steps of 1e-4 from 1: in float16 each would be rounded away (half a unit there is 2.4e-4).
TEST_F(MasterWeightsTest, SmallStepsAddUp) {
  Write<Float16>(DType::kFloat16);
  for (const std::string kind : {"", "precision { autocast: FLOAT16 }"}) {
    std::vector<std::string> warnings;
    TrainerOptions options;
    options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
    const auto trainer = Train(SumConfig("steps: 100 " + kind), options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    for (const float weight : Weights(**trainer, "m.weight")) EXPECT_NEAR(weight, 0.99, 1e-5);
    EXPECT_THAT(warnings, Contains(HasSubstr("float32 masters")));
    EXPECT_EQ(warnings[0].find("underflow") == std::string::npos, !kind.empty()) << warnings[0];
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    const Tensor* weight = model->graph.constant(model->graph.FindValue("m.weight"));
    ASSERT_NE(weight, nullptr);
    ASSERT_EQ(weight->dtype(), DType::kFloat16);
    EXPECT_EQ(weight->data<Float16>()[0].bits, Float16(0.99f).bits);
    for (const NodeId id : model->graph.node_ids())
      EXPECT_EQ(model->graph.node(id).metadata.count("onward.master"), 0u);
  }
}

TEST_F(MasterWeightsTest, ResumesAndAveragesInFloat32) {
  Write<BFloat16>(DType::kBFloat16);
  const TrainConfig config = SumConfig("steps: 40 average { kind: UNIFORM }");
  const auto whole = Train(config);
  ASSERT_TRUE(whole.ok()) << whole.status();
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path() + "/checkpoints";
  options.resume = true;
  int steps = 0;
  options.on_step = [&](const StepReport&) { ++steps; };
  options.stop = [&] { return steps == 13; };
  ASSERT_TRUE(Train(config, options).ok());
  options.stop = nullptr;
  const auto ended = Train(config, options);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(steps, 40);
  EXPECT_EQ(Weights(**whole, "m.weight"), Weights(**ended, "m.weight"));
  // The mean of 1 - k 1e-4, k = 1..40.
  for (const float weight : Weights(**ended, "average/m.weight"))
    EXPECT_NEAR(weight, 1 - 20.5e-4, 1e-6);
  const auto model = (*ended)->TrainedModel();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.constant(model->graph.FindValue("m.weight"))->dtype(), DType::kBFloat16);
}

TEST_F(MasterWeightsTest, FrozenWeightsStayAsTheyAre) {
  auto model = Sum<Float16>(DType::kFloat16);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(AddMasterWeights(model->graph, std::vector<std::string>{"none"}).count, 0);
  EXPECT_EQ(AddMasterWeights(model->graph, std::vector<std::string>{"m.weight"}).count, 1);
  EXPECT_EQ(model->graph.constant(model->graph.FindValue("m.weight"))->dtype(), DType::kFloat32);
  RoundMasterWeights(model->graph);
  EXPECT_EQ(model->graph.constant(model->graph.FindValue("m.weight"))->dtype(), DType::kFloat16);
}

}  // namespace
}  // namespace onward::training
