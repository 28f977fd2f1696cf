// Trainings in 16 bits, and the scale of their loss.
#include <algorithm>
#include <cmath>

#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"
#include "training/rewrite/loss_scale.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::kSide;
using testing::Normal;
using testing::TrainerTest;

TEST_F(TrainerTest, LearnsInLowPrecision) {
  for (const std::string kind : {"BFLOAT16", "FLOAT16"}) {
    SCOPED_TRACE(kind);
    const auto trainer = Train(Config("epochs: 12 precision { autocast: " + kind + " }"));
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_EQ((*trainer)->Evaluate()->accuracy(), 1.0);
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->graph.constant(model->graph.FindValue("fc1.weight"))->dtype(),
              DType::kFloat32);
  }
}

// A scale that overflows at first, then grows and overflows again; paused in between.
TEST_F(TrainerTest, AScaleThatOverflowsSkipsStepsAndGoesOnBitForBit) {
  for (const int accumulate : {1, 2}) {
    SCOPED_TRACE(accumulate);
    TrainConfig config = Config(absl::StrCat(
        "steps: 40 batch_size: 8 precision { autocast: FLOAT16 loss_scale: 3e38 growth: 16 "
        "growth_interval: 5 } checkpoint { every_steps: 100 } accumulate: ",
        accumulate));
    config.mutable_loss()->set_reduction(LossConfig::SUM);
    config.mutable_optimizer()->mutable_sgd()->set_lr(0.01);
    std::vector<std::pair<double, bool>> whole_scales, scales;
    TrainerOptions options;
    options.on_step = [&](const StepReport& r) {
      whole_scales.emplace_back(*r.loss_scale, r.skipped);
    };
    const auto whole = Train(config, options);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_TRUE(whole_scales[0].second);
    EXPECT_EQ(whole_scales[1].first, static_cast<double>(3e38f) / 2);
    const auto skipped = std::count_if(whole_scales.begin(), whole_scales.end(),
                                       [](const auto& step) { return step.second; });
    EXPECT_GT(skipped, 1);
    EXPECT_LT(skipped, 30);
    options.checkpoint_directory = scratch_.path() + absl::StrCat("/scaled", accumulate);
    options.resume = true;
    options.on_step = [&](const StepReport& r) { scales.emplace_back(*r.loss_scale, r.skipped); };
    options.stop = [&] { return scales.size() == 13; };
    ASSERT_TRUE(Train(config, options).ok());
    options.stop = nullptr;
    const auto ended = Train(config, options);
    ASSERT_TRUE(ended.ok()) << ended.status();
    EXPECT_EQ(scales, whole_scales);
    for (const std::string name : {"fc1.weight", "fc2.bias"})
      EXPECT_EQ(Weights(**whole, name), Weights(**ended, name));
    for (const float weight : Weights(**whole, "fc1.weight")) ASSERT_TRUE(std::isfinite(weight));
  }
}

TEST_F(TrainerTest, AnAnomalyThatTheScalerSkipsIsNoError) {
  for (const int accumulate : {1, 2}) {
    SCOPED_TRACE(accumulate);
    TrainConfig config = Config(
        absl::StrCat("steps: 30 batch_size: 8 precision { autocast: FLOAT16 loss_scale: 3e38 } "
                     "log { detect_anomaly: true } accumulate: ",
                     accumulate));
    config.mutable_loss()->set_reduction(LossConfig::SUM);
    config.mutable_optimizer()->mutable_sgd()->set_lr(0.01);
    StepReport last;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { last = report; };
    const auto trainer = Train(config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_GT(last.skipped_steps, 1);
    EXPECT_LT(last.skipped_steps, 30);
    EXPECT_FALSE(last.skipped);
  }
}

// Scores beyond the range of float16, which no scale mends.
TEST_F(TrainerTest, ALossThatIsNotFiniteIsSkippedUntilTheScaleIsLeast) {
  GraphBuilder builder("large");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  builder.Output("logits", Gemm(Op("Flatten", {image}),
                                builder.Constant(Normal({36, 3}, 1e8, 1), "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  TrainConfig config =
      Config("steps: 9 precision { autocast: FLOAT16 loss_scale: 8 arithmetic: STRICT }");
  std::vector<double> scales;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) {
    EXPECT_TRUE(report.skipped);
    scales.push_back(*report.loss_scale);
    EXPECT_EQ(report.skipped_steps, static_cast<int64_t>(scales.size()));
  };
  EXPECT_THAT(std::string(Train(config, options).status().message()),
              HasSubstr("the loss of step 4 is "));
  EXPECT_THAT(scales, ::testing::ElementsAre(8, 4, 2));
  config.mutable_log()->set_detect_anomaly(true);
  EXPECT_THAT(Error(config), ::testing::MatchesRegex("step 4, loss scale 1: \\[.*'.*'\\].*is the "
                                                     "first value that is not finite.*"));
  config.mutable_log()->clear_detect_anomaly();
  config.set_non_finite(TrainConfig::SKIP);
  scales.clear();
  std::vector<std::string> warnings;
  options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  const auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_THAT(scales, ::testing::ElementsAre(8, 4, 2, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(warnings,
              ::testing::ElementsAre(HasSubstr("step 4 is skipped: its loss or a gradient "
                                               "is not finite at the least loss scale, 1")));
}

TEST_F(TrainerTest, ArithmeticIsWhatTheConfigSays) {
  const auto loss = [&](const std::string& precision) {
    double last = 0;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { last = report.loss; };
    EXPECT_TRUE(Train(Config("steps: 3 precision { " + precision + " }"), options).ok());
    return last;
  };
  const double strict = loss("arithmetic: STRICT");
  EXPECT_NEAR(strict, loss(""), 1e-6);
  EXPECT_NEAR(strict, loss("arithmetic: FAST"), 0.02);
  const auto precision = [](const std::string& text) {
    return SessionPrecision(Config("steps: 1 precision { " + text + " }"));
  };
  EXPECT_EQ(precision(""), Precision::kDefault);
  EXPECT_EQ(precision("autocast: BFLOAT16"), Precision::kFast);
  EXPECT_EQ(precision("autocast: BFLOAT16 arithmetic: STRICT"), Precision::kStrict);
  EXPECT_EQ(precision("arithmetic: FAST"), Precision::kFast);
}

}  // namespace
}  // namespace onward::training
