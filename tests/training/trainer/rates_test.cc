// Rates of groups of parameters, plateaus, and metrics that are NaN.
#include <cmath>

#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::TrainerTest;

class RatesTest : public TrainerTest {
 protected:
  // Weights that do not move: no evaluation after the first is progress.
  static TrainConfig Grouped(const std::string& more) {
    TrainConfig config = Config(absl::StrCat("steps: 12 frozen: 'fc1.*' ", more));
    config.mutable_optimizer()->mutable_sgd()->set_lr(0.1);
    config.mutable_optimizer()->mutable_sgd()->set_momentum(0);
    auto* group = config.mutable_optimizer()->add_group();
    group->add_parameters("fc2.bias");
    group->mutable_sgd()->set_lr(0.0002);
    config.mutable_evaluation()->set_every_steps(2);
    // The loss does not change: what counts is whether the metric does.
    config.mutable_evaluation()->set_metric("accuracy");
    return config;
  }
  std::vector<std::vector<double>> RatesOf(const TrainConfig& config, TrainerOptions options = {}) {
    std::vector<std::vector<double>> rates;
    options.on_step = [&](const StepReport& report) {
      EXPECT_EQ(report.rate, report.rates.back());
      rates.push_back(report.rates);
    };
    const auto trainer = Train(config, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return rates;
  }
};

// torch.optim.lr_scheduler.ReduceLROnPlateau multiplies the rate of each group.
TEST_F(RatesTest, APlateauReducesEachGroupsOwnRate) {
  TrainConfig config = Grouped("schedule { plateau { patience: 1 factor: 0.5 threshold: 10 } }");
  const auto rates = RatesOf(config);
  ASSERT_EQ(rates.size(), 12u);
  // Evaluations after steps 2 (the first: the best), 4 (bad), 6 (bad: reduced), 8, 10 (reduced).
  for (size_t step = 0; step < rates.size(); ++step) {
    const double factor = step < 6 ? 1 : step < 10 ? 0.5 : 0.25;
    ASSERT_EQ(rates[step].size(), 2u);
    EXPECT_DOUBLE_EQ(rates[step][0], 0.0002 * factor) << step;
    EXPECT_DOUBLE_EQ(rates[step][1], 0.1 * factor) << step;
  }
}

TEST_F(RatesTest, GroupsHavePlateausOfTheirOwn) {
  TrainConfig config = Grouped("schedule { constant {} }");
  auto* plateau =
      config.mutable_optimizer()->mutable_group(0)->mutable_schedule()->mutable_plateau();
  plateau->set_patience(0);
  plateau->set_factor(0.1);
  plateau->set_threshold(10);
  plateau->set_cooldown(1);
  const auto rates = RatesOf(config);
  // Bad evaluations after 4 (reduced), 6 (cools down), 8 (reduced), 10 (cools down).
  for (size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(rates[step][0], 0.0002 * (step < 4 ? 1 : step < 8 ? 0.1 : 0.01), 1e-15) << step;
    EXPECT_EQ(rates[step][1], 0.1) << step;
  }
}

// torch.optim.lr_scheduler.LambdaLR has a function for each group.
TEST_F(RatesTest, AFactorOfOnesOwnMultipliesTheSchedule) {
  TrainerOptions options;
  options.rate_factor = [](int64_t steps, int64_t group) {
    return group == 0 ? 3.0 : 1.0 / static_cast<double>(1 + steps);
  };
  const auto rates =
      RatesOf(Grouped("schedule { step { step_size: 6 gamma: 0.5 } }"), std::move(options));
  ASSERT_EQ(rates.size(), 12u);
  for (size_t step = 0; step < rates.size(); ++step) {
    const double scheduled = step < 6 ? 1 : 0.5;
    EXPECT_NEAR(rates[step][0], 0.0002 * scheduled * 3, 1e-15) << step;
    EXPECT_NEAR(rates[step][1], 0.1 * scheduled / static_cast<double>(1 + step), 1e-15) << step;
  }
  options.rate_factor = [](int64_t steps, int64_t) { return steps < 2 ? 1.0 : std::nan(""); };
  const auto refused = Train(Grouped(""), options);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("TrainerOptions::rate_factor returns nan after 2 steps"));
}

TEST_F(RatesTest, APlateauWarmsUp) {
  TrainConfig config = Grouped(
      "schedule { plateau { patience: 0 factor: 0.5 threshold: 10 } warmup: 5 "
      "warmup_start: 0.2 }");
  const auto rates = RatesOf(config);
  // Evaluations after 2 and 4 are not counted; 6 is the first, 8 and 10 reduce.
  const double factors[] = {0.2, 0.36, 0.52, 0.68, 0.84, 1, 1, 1, 0.5, 0.5, 0.25, 0.25};
  for (size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(rates[step][0], 0.0002 * factors[step], 1e-12) << step;
    EXPECT_NEAR(rates[step][1], 0.1 * factors[step], 1e-12) << step;
  }
}

TEST_F(RatesTest, PlateausGoOnWhereTheyWere) {
  TrainConfig config = Grouped("schedule { plateau { patience: 1 factor: 0.5 threshold: 10 } }");
  const auto whole = RatesOf(config);
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("checkpoints");
  options.resume = true;
  TrainerOptions cut = options;
  int64_t steps = 0;
  cut.stop = [&] { return ++steps == 7; };
  RatesOf(config, cut);
  const auto rest = RatesOf(config, options);
  EXPECT_EQ(rest, (std::vector<std::vector<double>>(whole.begin() + 7, whole.end())));
}

// The root of a sum that is negative until the weight has grown.
TEST_F(RatesTest, NaNIsNeverTheBest) {
  GraphBuilder b("root");
  const Expr x = b.Input("x", DType::kFloat32, {"batch", 1});
  b.Output("y", Sqrt(x + b.Constant(Tensor::Of<float>({1}, {-0.3f}), "weight")));
  ASSERT_TRUE(ExportFile(*b.Build(), scratch_.path("root.onnx")).ok());
  scratch_.Write("train.csv", "x,label\n10,9\n10,9\n");
  scratch_.Write("test.csv", "x,label\n0,9\n0,9\n");
  const auto csv = [](const char* file) {
    return absl::StrCat("data { csv { path: '", file,
                        "' field { name: 'x' dim: 1 } field { name: 'label' dim: 1 } } }");
  };
  TrainConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("model: 'root.onnx' loss { mse {} } optimizer { sgd { lr: 0.1 } } "
                   "batch_size: 2 steps: 10 ",
                   csv("train.csv"), " evaluation { every_steps: 1 ", csv("test.csv"), " }"),
      &config));
  std::vector<EvaluationReport> reports;
  TrainerOptions options;
  options.on_evaluation = [&](const EvaluationReport& report) { reports.push_back(report); };
  const auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_EQ(reports.size(), 10u);
  EXPECT_TRUE(std::isnan(reports[0].evaluation.loss));
  EXPECT_FALSE(reports[0].best);
  EXPECT_FALSE(std::isnan(reports.back().evaluation.loss));
  EXPECT_TRUE(reports.back().best);
  // Evaluations that are NaN do not count.
  config.mutable_evaluation()->set_patience(1);
  const auto impatient = Train(config);
  ASSERT_TRUE(impatient.ok()) << impatient.status();
  EXPECT_EQ((*impatient)->steps_done(), 1);
}

TEST_F(RatesTest, AWarmUpThatIsLongerThanTheTrainingIsSaid) {
  std::vector<std::string> warnings;
  TrainerOptions options;
  options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  const auto trainer = Train(Config("steps: 8 schedule { cosine {} warmup: 50 }"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("schedule.warmup: 50 steps, the training has 8: it ends "
                                     "before the rate reaches lr"));
}

// A loop of PyTorch that calls StepLR(1, 0.5).step() after each epoch.
TEST_F(RatesTest, SchedulesCountEpochs) {
  std::vector<double> rates;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) { rates.push_back(report.rate); };
  TrainConfig config =
      Config("epochs: 3 schedule { step { step_size: 1 gamma: 0.5 } unit: EPOCHS }");
  config.mutable_optimizer()->mutable_sgd()->set_lr(0.1);
  const auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto per_epoch = static_cast<size_t>((*trainer)->steps_per_epoch());
  ASSERT_GT(per_epoch, 1u);
  ASSERT_EQ(rates.size(), 3 * per_epoch);
  const double of_epoch[] = {0.1, 0.05, 0.025};
  for (size_t i = 0; i < rates.size(); ++i) EXPECT_DOUBLE_EQ(rates[i], of_epoch[i / per_epoch]);
}

TEST_F(RatesTest, WrongEpochsOfSchedulesAreRefused) {
  EXPECT_THAT(Error(Config("epochs: 2 schedule { cosine {} warmup: 1 unit: EPOCHS }")),
              HasSubstr("schedule.warmup_start must be above 0 where `unit: EPOCHS`: the whole "
                        "first epoch has it"));
  EXPECT_THAT(
      Error(Config("epochs: 2 schedule { sequential { schedule { constant {} unit: EPOCHS } "
                   "schedule { constant {} } milestones: 1 } }")),
      HasSubstr("schedule.sequential.schedule[0] has a `unit` of its own"));
}

TEST_F(RatesTest, FieldsWithoutEffectAreRefused) {
  EXPECT_THAT(Error(Config("steps: 8 schedule { cosine {} warmup_start: 0.5 }")),
              HasSubstr("schedule.warmup_start does nothing without `warmup`"));
  EXPECT_THAT(Error(Config("steps: 8 schedule { constant { factor: 0.5 } }")),
              HasSubstr("schedule.constant.factor does nothing: `total` says for how many steps"));
  EXPECT_THAT(Error(Config("steps: 8 schedule { sequential { schedule { constant {} } "
                           "schedule { plateau {} } milestones: 3 } }")),
              HasSubstr("schedule.sequential.schedule[1] is a plateau"));
}

}  // namespace
}  // namespace onward::training
