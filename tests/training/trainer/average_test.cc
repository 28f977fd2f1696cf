// Averages of weights: what they evaluate and export, before they begin and with
// BatchNormalizations, whose statistics are PyTorch's (use_buffers, update_bn).
#include <filesystem>

#include "tests/training/trainer/cases.h"
#include "training/trainer/checkpoint_model.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::kNetStates;

class AverageTest : public testing::TrainerCaseTest {
 protected:
  void Load(const std::string& name) {
    TrainerCaseTest::Load(name);
    ASSERT_TRUE(ExportFile(NormalizedNet(), scratch_.path("model.onnx")).ok());
  }

  static TrainConfig Steps(const std::string& more) {
    return Config(
        absl::StrCat("loss { cross_entropy {} } optimizer { sgd { lr: 0.3 } } "
                     "batch_size: 4 ",
                     more));
  }
  static Tensor Exported(const Model& model, const std::string& name) {
    return *model.graph.constant(model.graph.FindValue(name));
  }
};

TEST_F(AverageTest, WithBatchNormalizationsIsPyTorchs) {
  const std::pair<const char*, const char*> cases[] = {
      {"average_exponential", "steps: 14 average { decay: 0.8 start: 3 }"},
      {"average_uniform", "steps: 15 average { kind: UNIFORM start: 4 every: 2 }"}};
  for (const auto& [name, steps] : cases) {
    SCOPED_TRACE(name);
    Load(name);
    double last = 0;
    TrainerOptions options;
    options.on_evaluation = [&](const EvaluationReport& report) { last = report.evaluation.loss; };
    options.checkpoint_directory = scratch_.path(absl::StrCat(name, "_checkpoints"));
    auto trainer = testing::RunTrainer(Steps(steps), scratch_.path(), options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    for (const char* state : kNetStates) {
      ExpectState(**trainer, absl::StrCat("average/", state), absl::StrCat("want/", state), 1e-6);
      ExpectNear(Exported(*model, state), arrays_.at(absl::StrCat("want/", state)), state, 1e-6);
    }
    EXPECT_NEAR(last, arrays_.at("evaluation").data<double>()[0], 1e-5);
    // A resumed training that is over exports the same.
    trainer->reset();
    options.resume = true;
    const auto resumed = testing::RunTrainer(Steps(steps), scratch_.path(), options);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    const auto again = (*resumed)->TrainedModel();
    ASSERT_TRUE(again.ok()) << again.status();
    for (const char* state : kNetStates)
      ExpectNear(Exported(*again, state), Exported(*model, state), state, 0);
  }
}

// Between evaluations nobody has computed the statistics of the average.
TEST_F(AverageTest, ACheckpointBetweenEvaluationsIsExportedWithPyTorchsStatistics) {
  Load("average_uniform");
  TrainConfig config = Steps(
      "steps: 16 average { kind: UNIFORM start: 4 every: 2 } "
      "checkpoint { every_steps: 1 keep: 100 }");
  config.clear_evaluation();
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("checkpoints");
  const auto trainer = testing::RunTrainer(config, scratch_.path(), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto load = [&](int64_t step) {
    return *ChooseCheckpoint({options.checkpoint_directory}, {CheckpointChoice::kStep, step},
                             false);
  };
  // PyTorch's numbers are those after step 15.
  std::vector<std::string> warnings;
  const auto log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  const auto model = ModelOfCheckpoint(config, scratch_.path(), load(15), "", log);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const char* state : kNetStates)
    ExpectNear(Exported(*model, state), arrays_.at(absl::StrCat("want/", state)), state, 1e-6);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("was written between the evaluations of a uniform average"));
  // The statistics of the end were computed in the training, those of a start without average are
  // the model's own.
  for (const int64_t step : {int64_t{3}, int64_t{16}})
    ASSERT_TRUE(ModelOfCheckpoint(config, scratch_.path(), load(step), "", log).ok());
  EXPECT_EQ(warnings.size(), 1u);
  std::filesystem::remove(scratch_.path("data.safetensors"));
  const auto refused = ModelOfCheckpoint(config, scratch_.path(), load(15));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(refused.status().message()),
      AllOf(HasSubstr("must be computed on the training's data: "), HasSubstr("data.safetensors"),
            HasSubstr("--data-dir"), HasSubstr("--checkpoint best")));
}

// Running statistics that are averaged in a step of several batches are those after the last one.
TEST_F(AverageTest, AccumulatedStepsAverageTheStatisticsOfTheirLastBatch) {
  Load("average_exponential");
  std::vector<std::vector<double>> means;
  std::unique_ptr<Trainer> trainer;
  TrainerOptions options;
  options.directory = scratch_.path();
  const auto numbers = [&](const std::string& state) {
    const Tensor tensor = *trainer->State(state);
    return std::vector<double>(tensor.data<double>(), tensor.data<double>() + 6);
  };
  options.on_step = [&](const StepReport&) { means.push_back(numbers("bn1.running_mean")); };
  auto made = Trainer::Create(Steps("steps: 5 accumulate: 2 average { decay: 0.5 }"), options);
  ASSERT_TRUE(made.ok()) << made.status();
  trainer = *std::move(made);
  ASSERT_TRUE(trainer->Run().ok());
  std::vector<double> want = means[0];
  for (size_t step = 1; step < means.size(); ++step)
    for (size_t i = 0; i < want.size(); ++i) want[i] += 0.5 * (means[step][i] - want[i]);
  const std::vector<double> got = numbers("average/bn1.running_mean");
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
}

// Until a step has counted, the weights themselves are evaluated and exported: when the training
// ends before, or is interrupted before.
TEST_F(AverageTest, BeforeItsStartTheWeightsCount) {
  for (const char* kind : {"UNIFORM", "EXPONENTIAL"}) {
    for (const int64_t stopped : {int64_t{1000}, int64_t{7}}) {
      SCOPED_TRACE(absl::StrCat(kind, " ", stopped));
      Load("average_uniform");
      std::vector<double> with, without;
      std::vector<std::string> warnings;
      const auto train = [&](const std::string& more, std::vector<double>& losses) {
        int64_t steps = 0;
        TrainerOptions options;
        options.on_evaluation = [&](const EvaluationReport& report) {
          losses.push_back(report.evaluation.loss);
        };
        options.on_step = [&](const StepReport& report) { steps = report.step; };
        options.stop = [&] { return steps == stopped; };
        options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
        auto trainer = testing::RunTrainer(Steps("epochs: 3 " + more), scratch_.path(), options);
        EXPECT_TRUE(trainer.ok()) << trainer.status();
        return *std::move(trainer);
      };
      const auto plain = train("", without);
      const auto averaged = train(absl::StrCat("average { start: 100 kind: ", kind, "}"), with);
      EXPECT_EQ(with, without);
      const auto model = averaged->TrainedModel();
      ASSERT_TRUE(model.ok()) << model.status();
      for (const char* state : kNetStates) {
        ExpectNear(Exported(*model, state), *plain->State(state), state, 0);
      }
      ASSERT_EQ(warnings.size(), 1u);
      EXPECT_THAT(warnings[0], HasSubstr("average.start: 100, the training ends after 18 steps: "
                                         "nothing is averaged"));
    }
  }
}

// The loss is made to grow: the second evaluation, after 12 of 180 steps, is worse than the first.
TEST_F(AverageTest, BeforeItsStartATrainingWithoutPatienceExportsItsWeights) {
  for (const char* kind : {"UNIFORM", "EXPONENTIAL"}) {
    SCOPED_TRACE(kind);
    Load("average_uniform");
    const auto train = [&](const std::string& more) {
      auto trainer = testing::RunTrainer(
          Steps("epochs: 30 optimizer { sgd { maximize: true } } evaluation { patience: 1 } " +
                more),
          scratch_.path(), {});
      EXPECT_TRUE(trainer.ok()) << trainer.status();
      return *std::move(trainer);
    };
    const auto plain = train("");
    const auto averaged = train(absl::StrCat("average { start: 100 kind: ", kind, "}"));
    EXPECT_EQ(averaged->steps_done(), 12);
    const auto model = averaged->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    for (const char* state : kNetStates)
      ExpectNear(Exported(*model, state), *plain->State(state), state, 0);
    EXPECT_FALSE(SameBits(Exported(*model, "fc3.weight"), arrays_.at("start/fc3.weight")));
  }
}

TEST_F(AverageTest, ABatchWithOneValueForEachChannelIsRefused) {
  Load("average_uniform");
  TrainConfig config = Steps("steps: 3");
  config.set_batch_size(1);
  auto trainer = testing::RunTrainer(config, scratch_.path(), {});
  EXPECT_THAT(std::string(trainer.status().message()),
              ::testing::ContainsRegex("\\[BatchNormalization '.*'\\] expected more than one value "
                                       "for each channel in training, got the shape \\[1,6\\]: "));
  // 24 examples in batches of 23: the last one has one. In inference mode, and where it is left
  // out, all is well; an evaluation of single examples is too.
  config.set_batch_size(23);
  trainer = testing::RunTrainer(config, scratch_.path(), {});
  EXPECT_THAT(std::string(trainer.status().message()), HasSubstr("got the shape [1,6]"));
  config.mutable_data()->clear_drop_last();
  config.mutable_evaluation()->set_batch_size(1);
  trainer = testing::RunTrainer(config, scratch_.path(), {});
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  config.mutable_data()->set_drop_last(false);
  config.add_inference_mode("*");
  trainer = testing::RunTrainer(config, scratch_.path(), {});
  EXPECT_TRUE(trainer.ok()) << trainer.status();
}

}  // namespace
}  // namespace onward::training
