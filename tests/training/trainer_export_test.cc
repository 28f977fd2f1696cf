// What a training leaves: the trained model, and its step.
#include "onnx_io/import.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/training/trainer_fixture.h"
#include "training/trainer.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT
using testing::kSide;
using testing::Normal;
using testing::TrainerTest;

TEST_F(TrainerTest, RunningStatisticsAreExported) {
  GraphBuilder builder("normalised");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  const auto constant = [&](float value, const char* name) {
    return builder.Constant(Tensor::Of<float>({1}, {value}), name);
  };
  const Expr normal = Op("BatchNormalization", {image, constant(1, "scale"), constant(0, "shift"),
                                                constant(0, "mean"), constant(1, "variance")});
  builder.Output("logits", Gemm(Op("Flatten", {normal}),
                                builder.Constant(Normal({36, 3}, 0.2, 1), "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  const auto trainer = Train(Config("epochs: 10"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto model = (*trainer)->TrainedModel();
  ASSERT_TRUE(model.ok()) << model.status();
  // After 60 steps with momentum 0.9 the statistics are those of the images.
  EXPECT_NEAR(model->graph.constant(model->graph.FindValue("mean"))->data<float>()[0], 0.05, 0.03);
  EXPECT_EQ((*trainer)->Evaluate()->accuracy(), 1.0);
}

// The exported step, run by ONNX Runtime on the same batch, gives the next state.
TEST_F(TrainerTest, TheExportedStepIsTheStepInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers was not run";
  TrainConfig config = Config("steps: 4");
  config.mutable_optimizer()->set_name("Adam");
  (*config.mutable_optimizer()->mutable_options())["lr"] = 0.01;
  const auto trainer = Train(config);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const std::string path = scratch_.path() + "/step.onnx";
  ASSERT_TRUE((*trainer)->ExportStep(path).ok());
  ImportOptions import;
  import.training = true;
  const auto step = ImportFile(path, import);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->updates.size(), 1 + 3 * (*trainer)->parameters().size());
  const Session::Inputs batch = {
      {"image", Normal({16, 1, kSide, kSide}, 1, 9)},
      {"label", Tensor::Of<int64_t>({16}, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0})}};
  Session::Inputs given = batch;
  for (const ValueId input : step->graph.inputs()) {
    if (const Tensor* value = step->graph.constant(input))
      given[step->graph.value(input).name] = *value;
  }
  const auto theirs = testing::RunInOnnxRuntime(*step, given);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  TrainingSession& session = (*trainer)->session();
  const auto ours = session.Step(batch);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(testing::Difference(ours->at("loss").tensor(), theirs->at("loss").tensor(), 1e-5, 1e-6),
            "");
  for (const std::string& name : session.state_names()) {
    EXPECT_EQ(
        testing::Difference(*session.State(name), theirs->at("next/" + name).tensor(), 1e-4, 1e-6),
        "")
        << name;
  }
}

TEST_F(TrainerTest, BatchNormalizationsFoldIntoTheExportedModel) {
  GraphBuilder builder("normal");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  const auto constant = [&](float value, const char* name) {
    return builder.Constant(Tensor::Of<float>({2}, {value, value}), name);
  };
  const Expr conv = Op("Conv", {image, builder.Constant(Normal({2, 1, 3, 3}, 0.3, 1), "filter")});
  const Expr normal = Op("BatchNormalization", {conv, constant(1, "scale"), constant(0, "shift"),
                                                constant(0, "mean"), constant(1, "variance")});
  builder.Output("logits", Gemm(Op("Flatten", {Relu(normal)}),
                                builder.Constant(Normal({32, 3}, 0.2, 2), "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  const auto trainer = Train(Config("epochs: 2 export { fold_batch_norm: true }"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const std::string path = scratch_.path() + "/trained.onnx";
  ASSERT_TRUE((*trainer)->Export(path).ok());
  const auto exported = ImportFile(path);
  ASSERT_TRUE(exported.ok()) << exported.status();
  for (const NodeId id : exported->graph.node_ids())
    EXPECT_NE(exported->graph.node(id).op_type, "BatchNormalization");
  TrainConfig again = Config("epochs: 0");
  again.set_model(path);
  const auto loaded = Train(again);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_NEAR((*loaded)->Evaluate()->loss, (*trainer)->Evaluate()->loss, 1e-5);
}

}  // namespace
}  // namespace onward
