// What ends a training, or does not let it begin.
#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::Idx;
using testing::kExamples;
using testing::kSide;
using testing::Normal;
using testing::TrainerTest;

TEST_F(TrainerTest, ANonFiniteLossStopsOrIsSkipped) {
  TrainConfig config = Config("steps: 40");
  config.mutable_optimizer()->mutable_sgd()->set_lr(1e30);
  EXPECT_THAT(Error(config), HasSubstr("the loss of step "));
  config.set_non_finite(TrainConfig::SKIP);
  int64_t skipped = 0;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) { skipped += report.skipped; };
  const auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_GT(skipped, 30);
}

TEST_F(TrainerTest, AnomaliesAreNamedWithTheirNode) {
  TrainConfig config = Config("steps: 40 log { detect_anomaly: true }");
  config.mutable_optimizer()->mutable_sgd()->set_lr(1e30);
  EXPECT_THAT(Error(config), HasSubstr("is the first value that is not finite"));
  EXPECT_THAT(Error(config), ::testing::MatchesRegex(".*\\[.*'.*'\\].*"));
}

TEST_F(TrainerTest, DataThatDoNotFitTheModel) {
  std::string labels(kExamples, '\0');
  labels[5] = 7;
  scratch_.Write("labels", Idx({kExamples}, labels));
  EXPECT_THAT(Error(Config("epochs: 1")),
              HasSubstr("label 7 at position 9 is out of range for 3 classes"));
  scratch_.Write("labels", Idx({kExamples}, std::string(kExamples, '\0')));
  scratch_.Write("images", Idx({kExamples, 4, 5}, std::string(kExamples * 20, '\0')));
  EXPECT_THAT(Error(Config("epochs: 1")),
              HasSubstr("'image': dimension 2 is 4 (expected float32[batch,1,6,6], got "
                        "float32[16,1,4,5])"));
}

TEST_F(TrainerTest, AMemoryBudgetIsKeptOrRefused) {
  const auto free = Train(Config("epochs: 1"));
  const auto roomy = Train(Config("epochs: 1 recompute { memory_budget: \"1GiB\" }"));
  ASSERT_TRUE(free.ok()) << free.status();
  ASSERT_TRUE(roomy.ok()) << roomy.status();
  EXPECT_EQ((*roomy)->recomputed_segments(), 0);
  EXPECT_EQ((*roomy)->planned_bytes(), (*free)->planned_bytes());
  EXPECT_THAT(
      Error(Config("epochs: 1 recompute { memory_budget: \"1KB\" }")),
      HasSubstr("bytes at least, the least of the cuts that are tried: the forward pass "
                "whole, and in 2 to 64 parts that are computed again; the budget is 1000 bytes"));
  EXPECT_THAT(Error(Config("epochs: 1 recompute { memory_budget: \"1KB\" segment: '*' }")),
              HasSubstr("bytes at least, with the segments that the config names computed again;"));
  EXPECT_THAT(Error(Config("epochs: 1 recompute { memory_budget: \"2 gigs\" }")),
              HasSubstr("'2 gigs' is not a number of bytes such as 500MB"));
}

TEST_F(TrainerTest, MistakesInNamesAndKinds) {
  TrainConfig config = Config("steps: 1");
  (*config.mutable_data()->mutable_inputs())["imagee"] = "image";
  EXPECT_THAT(Error(config),
              HasSubstr("data.inputs: the model has no input 'imagee'; it has image"));
  config = Config("steps: 1");
  config.mutable_loss()->set_target("image");
  EXPECT_THAT(Error(config), ::testing::ContainsRegex(
                                 "loss.target: 'image' is float32.*; the loss 'cross_entropy' "
                                 "needs integers, the classes, or probabilities of the shape of "
                                 "the scores, float32.*3"));
  config.mutable_loss()->mutable_nll();
  EXPECT_THAT(Error(config), HasSubstr("the loss 'nll' needs integers, the classes"));
  config = Config("steps: 1");
  config.mutable_optimizer()->mutable_adam()->set_beta1(1);
  EXPECT_THAT(Error(config), HasSubstr("optimizer.adam.beta1 = 1 is not in [0, 1)"));
  config.mutable_optimizer()->mutable_muon();
  EXPECT_THAT(Error(config), ::testing::ContainsRegex(
                                 "Muon takes only matrices, but the parameter '.*' is float32.*; "
                                 "freeze it or choose another optimizer"));
  config = Config("steps: 1");
  config.mutable_data()->mutable_npz()->add_path("absent.npz");
  EXPECT_THAT(Error(config), HasSubstr("absent.npz' as a zip archive: No such file"));
  scratch_.Write("absent.npz", "PK?");
  EXPECT_THAT(Error(config), HasSubstr("absent.npz' as a zip archive: Not a zip archive"));
}

TEST_F(TrainerTest, Errors) {
  TrainConfig config = Config("steps: 1");
  config.mutable_loss()->Clear();
  EXPECT_THAT(Error(config), HasSubstr("the configuration: loss must name a kind, one of bce, "));
  config = Config("steps: 1");
  config.mutable_loss()->set_target("labels");
  EXPECT_THAT(Error(config), HasSubstr("the data has no field 'labels'; it has image, label"));
  config = Config("steps: 1");
  config.mutable_loss()->set_output("scores");
  EXPECT_THAT(Error(config), HasSubstr("the model has no output 'scores'; it has logits"));
  config = Config("steps: 1");
  config.mutable_loss()->mutable_from_model();
  EXPECT_THAT(Error(config), HasSubstr("not a scalar"));
  config = Config("steps: 1");
  config.add_trainable("fc1.wieght");
  EXPECT_THAT(Error(config), HasSubstr("matches 'fc1.wieght'; did you mean 'fc1.weight'?"));
  config = Config("steps: 1");
  config.add_frozen("*");
  EXPECT_THAT(Error(config), HasSubstr("nothing is left to train"));
  config = Config("steps: 1");
  config.mutable_optimizer()->Clear();
  EXPECT_THAT(Error(config), HasSubstr("optimizer must name a kind, one of adadelta, "));
  config = Config("steps: 1");
  config.mutable_optimizer()->add_group()->add_parameters("*.wieght");
  EXPECT_THAT(Error(config), HasSubstr("optimizer.group[0].parameters: no initializer of the model "
                                       "matches '*.wieght'"));
  config = Config("steps: 1 schedule { warmup: 3 }");
  EXPECT_THAT(Error(config), HasSubstr("schedule must name a kind, one of constant, cosine"));
  config = Config("steps: 1 batch_size: 1000");
  EXPECT_THAT(Error(config), HasSubstr("a data set of 96 examples does not fill a batch of 1000"));
  config = Config("steps: 1");
  (*config.mutable_data()->mutable_inputs())["image"] = "picture";
  EXPECT_THAT(Error(config), HasSubstr("no field 'picture'; it has image, label"));
  config = Config("steps: 1");
  config.set_model("missing.onnx");
  EXPECT_THAT(Error(config), HasSubstr("missing.onnx"));
}

// One image makes its batch's loss NaN.
TEST_F(TrainerTest, AStepWithABatchThatIsNotFiniteChangesNothing) {
  GraphBuilder builder("relative");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  const Expr relative = image / ReduceMax(image, {1, 2, 3}, true);
  builder.Output("logits", Gemm(Op("Flatten", {relative}),
                                builder.Constant(Normal({36, 3}, 0.1, 1), "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  std::string pixels(kExamples * kSide * kSide, '\1');
  for (int i = 0; i < kSide * kSide; ++i) pixels[static_cast<size_t>(40 * kSide * kSide + i)] = 0;
  scratch_.Write("images", Idx({kExamples, kSide, kSide}, pixels));
  TrainConfig config =
      Config("epochs: 2 batch_size: 8 accumulate: 2 non_finite: SKIP average { decay: 0.5 }");
  config.mutable_data()->mutable_mnist()->set_mean(0);
  std::unique_ptr<Trainer> trainer;
  std::vector<float> before;
  int64_t skipped = 0;
  TrainerOptions options;
  options.directory = scratch_.path();
  options.on_step = [&](const StepReport& report) {
    const std::vector<float> after = Weights(*trainer, "fc.weight");
    EXPECT_EQ(report.skipped, after == before) << report.step;
    skipped += report.skipped;
    before = after;
  };
  auto made = Trainer::Create(config, options);
  ASSERT_TRUE(made.ok()) << made.status();
  trainer = *std::move(made);
  before = Weights(*trainer, "fc.weight");
  ASSERT_TRUE(trainer->Run().ok());
  EXPECT_EQ(skipped, 2);
}

TEST_F(TrainerTest, WhatNeedsMoreMemoryIsRefused) {
  EXPECT_EQ(Error(Config("steps: 2 max_memory: \"64MB\"")), "OK");
  EXPECT_THAT(Error(Config("steps: 2 max_memory: \"2KB\"")),
              HasSubstr("above the limit of 2000 bytes"));
  EXPECT_THAT(Error(Config("steps: 2 max_memory: \"much\"")),
              HasSubstr("max_memory: 'much' is not a number of bytes such as 500MB"));
}

}  // namespace
}  // namespace onward::training
