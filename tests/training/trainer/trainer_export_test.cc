// What a training leaves: the trained model, and its step.
#include "onward/import.h"
#include "onward/training.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/training/trainer/trainer_fixture.h"
#include "training/rewrite/portable_checks.h"
#include "training/trainer/training_loop.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using testing::kSide;
using testing::Normal;
using testing::TrainerTest;

TEST_F(TrainerTest, RunningStatisticsAreExported) {
  WriteNormalized(/*dropout=*/false);
  const auto trainer = Train(Config("epochs: 10"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto model = (*trainer)->TrainedModel();
  ASSERT_TRUE(model.ok()) << model.status();
  // After 60 steps with momentum 0.9 the statistics are those of the images.
  EXPECT_NEAR(model->graph.constant(model->graph.FindValue("mean"))->data<float>()[0], 0.05, 0.03);
  EXPECT_EQ((*trainer)->Evaluate()->accuracy(), 1.0);
}

TEST_F(TrainerTest, AStepOverSeveralBatchesIsNotExported) {
  const auto trainer = Train(Config("steps: 2 accumulate: 2"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const absl::Status exported = (*trainer)->ExportStep(scratch_.path("step.onnx"));
  EXPECT_EQ(exported.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(exported.message()), ::testing::HasSubstr("set accumulate to 1"));
}

// The exported step, run by ONNX Runtime on the same batch, gives the next state.
TEST_F(TrainerTest, TheExportedStepIsTheStepInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers was not run";
  TrainConfig config = Config("steps: 4");
  config.mutable_optimizer()->mutable_adam()->set_lr(0.01);
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
  TrainingSession& session = static_cast<TrainingLoop&>(**trainer).session();
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

// Nothing is broadcast where the shapes that come are not those that the step was made for.
class ExportedStepTest : public TrainerTest {
 protected:
  // x: [batch, 2] to y: `shape` of it, beside targets as rows of `columns` numbers.
  void Export(const std::vector<int64_t>& shape, const std::string& target) {
    GraphBuilder builder("line");
    const Expr x = builder.Input("x", DType::kFloat32, {"batch", 2});
    const Expr y = MatMul(x, builder.Constant(Normal({2, 1}, 1, 4), "weight"));
    builder.Output("y", shape.empty() ? y : Reshape(y, shape));
    ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path("line.onnx")).ok());
    scratch_.Write("rows.csv", "1,2,3\n4,5,6\n7,8,9\n1,0,1\n");
    TrainConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat(R"(model: "line.onnx" loss { mse {} } batch_size: 2 steps: 1
                        optimizer { sgd { lr: 0.1 } }
                        data { csv { path: "rows.csv"
                                     field { name: "x" column: "1" column: "2" } field {)",
                     target, "} } }"),
        &config));
    auto trainer = Train(config);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    ASSERT_TRUE((*trainer)->ExportStep(scratch_.path("step.onnx")).ok());
    ImportOptions import;
    import.training = true;
    const auto step = ImportFile(scratch_.path("step.onnx"), import);
    ASSERT_TRUE(step.ok()) << step.status();
    step_ = *step;
    trainer_ = *std::move(trainer);
  }
  absl::StatusOr<Session::Outputs> Run(const Tensor& x, const Tensor& label) {
    Session::Inputs given = {{"x", x}, {"label", label}};
    for (const ValueId input : step_.graph.inputs())
      if (const Tensor* value = step_.graph.constant(input))
        given[step_.graph.value(input).name] = *value;
    return testing::RunInOnnxRuntime(step_, given);
  }
  void ExpectLossOfTheTrainer(const Tensor& x, const Tensor& label) {
    const auto theirs = Run(x, label);
    ASSERT_TRUE(theirs.ok()) << theirs.status();
    const auto ours =
        static_cast<TrainingLoop&>(*trainer_).session().Step({{"x", x}, {"label", label}});
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_EQ(
        testing::Difference(ours->at("loss").tensor(), theirs->at("loss").tensor(), 1e-5, 1e-6),
        "");
  }
  void ExpectRefused(const Tensor& x, const Tensor& label, const std::string& message) {
    SCOPED_TRACE(DimsString(label.dims()));
    EXPECT_THAT(std::string(Run(x, label).status().message()), ::testing::HasSubstr(message));
  }

  Model step_;
  std::unique_ptr<Trainer> trainer_;
};

// One symbol for both: the check is of the inputs' names of dims.
TEST_F(ExportedStepTest, RefusesBatchesOfTwoSizesInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers was not run";
  Export({}, R"(name: "label" column: "3" dim: 1)");
  ExpectLossOfTheTrainer(Normal({5, 2}, 1, 7), Normal({5, 1}, 1, 8));
  ExpectRefused(Normal({5, 2}, 1, 7), Normal({1, 1}, 1, 8),
                "axis 0 of the input 'label' is another 'batch' than that of 'x'");
  ExpectRefused(Normal({1, 2}, 1, 7), Normal({5, 1}, 1, 8), "axis 0 of the input 'label'");
}

// The model does not say what it gives: the check is the loss's.
TEST_F(ExportedStepTest, RefusesTargetsOfOtherShapesInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers was not run";
  Export({-1}, R"(name: "label" column: "3")");
  ExpectLossOfTheTrainer(Normal({6, 2}, 1, 7), Normal({6}, 1, 8));
  const std::string wrong = "'label' ";
  ExpectRefused(Normal({6, 2}, 1, 7), Normal({1}, 1, 8), wrong);
  ExpectRefused(Normal({1, 2}, 1, 7), Normal({6}, 1, 8), wrong);
}

TEST_F(ExportedStepTest, RefusesTransposedTargetsInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers was not run";
  GraphBuilder builder("open");
  const Expr x = builder.Input("x", DType::kFloat32, {"a", "b"});
  const Expr label = builder.Input("label", DType::kFloat32, {"c", "d"});
  const Expr required = Op("RequireShape", {label, Shape(x), Shape(x)},
                           {{"message", "the target 'label' has the shape {got}"}}, "onward");
  builder.Output("y", Identity(required));
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(CheckRequiredShapes(model->graph).ok());
  const auto run = [&](DimsView dims) {
    return testing::RunInOnnxRuntime(*model,
                                     {{"x", Normal({2, 3}, 1, 1)}, {"label", Normal(dims, 1, 2)}});
  };
  const auto same = run(Dims{2, 3});
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(testing::Difference(same->at("y").tensor(), Normal({2, 3}, 1, 2), 0, 0), "");
  for (const Dims& dims : {Dims{3, 2}, Dims{1, 6}, Dims{1, 3}, Dims{2, 1}, Dims{0, 3}}) {
    EXPECT_THAT(std::string(run(dims).status().message()),
                ::testing::HasSubstr("the target 'label' does not have the shape"));
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
}  // namespace onward::training
