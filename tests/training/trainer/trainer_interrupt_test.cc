// A training that is interrupted at any moment resumes to the same bits.
#include <algorithm>
#include <filesystem>

#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"
#include "training/checkpoint/checkpoint.h"

namespace onward::training {
namespace {

using testing::TrainerTest;

class TrainerInterruptTest : public TrainerTest {
 protected:
  void SetUp() override {
    TrainerTest::SetUp();
    WriteNormalized(/*dropout=*/true);
  }

  // Interrupts a training at the `calls`-th question and resumes it, until it is done; every state
  // must be that of a training that is not interrupted.
  void InterruptAtEach(const TrainConfig& config) {
    int64_t questions = 0;
    TrainerOptions whole_options;
    whole_options.interrupted = [&] {
      ++questions;
      return false;
    };
    std::vector<double> evaluations;
    whole_options.on_evaluation = [&](const EvaluationReport& report) {
      evaluations.push_back(report.evaluation.loss);
    };
    const auto whole = Train(config, whole_options);
    ASSERT_TRUE(whole.ok()) << whole.status();
    ASSERT_GT(questions, (*whole)->steps_done());
    for (int64_t calls = 1; calls < questions; calls += 1 + calls / 7) {
      SCOPED_TRACE(calls);
      TrainerOptions options;
      options.checkpoint_directory = scratch_.path(absl::StrCat("c", config.steps(), "_", calls));
      options.resume = true;
      int64_t asked = 0;
      bool interrupt = true;
      options.interrupted = [&] { return interrupt && ++asked >= calls; };
      std::vector<double> made;
      options.on_evaluation = [&](const EvaluationReport& report) {
        made.push_back(report.evaluation.loss);
      };
      auto cut = Train(config, options);
      ASSERT_TRUE(cut.ok()) << cut.status();
      EXPECT_EQ((*cut)->end(), TrainingEnd::kStopped);
      cut->reset();
      interrupt = false;
      const auto resumed = Train(config, options);
      ASSERT_TRUE(resumed.ok()) << resumed.status();
      EXPECT_EQ((*resumed)->end(), TrainingEnd::kSteps);
      EXPECT_EQ(made, evaluations);
      ExpectSameState(**resumed, **whole);
      EXPECT_EQ((*resumed)->best()->step, (*whole)->best()->step);
    }
  }
};

TEST_F(TrainerInterruptTest, BetweenTheBatchesOfAStepAndOfAnEvaluation) {
  TrainConfig config = Config(R"(steps: 9 accumulate: 3 batch_size: 8 average { start: 3 }
      schedule { plateau { patience: 1 } } checkpoint { every_steps: 100 })");
  config.mutable_evaluation()->set_every_steps(3);
  config.mutable_evaluation()->set_batch_size(40);
  config.mutable_optimizer()->mutable_sgd()->set_momentum(0.9);
  InterruptAtEach(config);
}

TEST_F(TrainerInterruptTest, BetweenTheEvaluationsOfLbfgs) {
  TrainConfig config =
      Config("steps: 3 accumulate: 2 batch_size: 24 checkpoint { every_steps: 9 }");
  config.mutable_optimizer()->mutable_lbfgs()->set_max_iter(4);
  config.mutable_evaluation()->set_every_steps(2);
  InterruptAtEach(config);
}

// Without checkpoints the best weights are kept in memory.
TEST_F(TrainerInterruptTest, TheBestWeightsAreExported) {
  TrainConfig config = Config("steps: 30 batch_size: 8");
  config.mutable_evaluation()->set_every_steps(1);
  EvaluateOnOtherLabels(config);
  for (const bool checkpoints : {false, true}) {
    TrainerOptions options;
    if (checkpoints) options.checkpoint_directory = scratch_.path("best");
    const auto counters = std::make_shared<Counters>();
    options.counters = counters;
    std::vector<double> losses;
    options.on_evaluation = [&](const EvaluationReport& report) {
      losses.push_back(report.evaluation.loss);
    };
    const auto trainer = Train(config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_EQ(counters->Read()["training/steps"], 30);
    EXPECT_EQ(counters->Read()["training/evaluations"], 30);
    EXPECT_EQ(counters->Read()["checkpoint/begun"] > 0, checkpoints);
    const auto best = std::min_element(losses.begin(), losses.end());
    ASSERT_NE(best, losses.end() - 1);
    ASSERT_TRUE((*trainer)->best());
    EXPECT_EQ((*trainer)->best()->step, best - losses.begin() + 1);
    EXPECT_EQ((*trainer)->best()->metric, *best);
    EXPECT_EQ((*trainer)->exported_step(), (*trainer)->best()->step);
    ASSERT_TRUE((*trainer)->Export(scratch_.path("exported.onnx")).ok());
    TrainConfig again = config;
    again.set_model("exported.onnx");
    again.set_steps(0);
    TrainerOptions below;
    below.directory = scratch_.path();
    const auto loaded = Trainer::Create(again, below);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_NEAR((*loaded)->Evaluate()->loss, *best, 1e-6);
  }
}

// The best checkpoint is damaged while the training runs: the best of the others is exported.
TEST_F(TrainerInterruptTest, TheNextBestWeightsAreExportedWhereTheBestAreLost) {
  TrainConfig config = Config("steps: 12 batch_size: 8 checkpoint { every_steps: 1 keep: 100 }");
  config.mutable_evaluation()->set_every_steps(1);
  EvaluateOnOtherLabels(config);
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("damaged");
  std::vector<double> losses;
  options.on_evaluation = [&](const EvaluationReport& report) {
    losses.push_back(report.evaluation.loss);
  };
  const auto nth_best = [&](size_t n) {
    std::vector<size_t> steps(losses.size());
    for (size_t i = 0; i < steps.size(); ++i) steps[i] = i;
    std::stable_sort(steps.begin(), steps.end(),
                     [&](size_t a, size_t b) { return losses[a] < losses[b]; });
    return static_cast<int64_t>(steps[n]) + 1;
  };
  std::vector<std::string> warnings;
  options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  trainer->reset();
  const auto entries = ListCheckpoints(options.checkpoint_directory);
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const auto& entry : *entries)
    if (entry.step == nth_best(0))
      std::filesystem::resize_file(entry.path + "/state.safetensors", 9);
  // A training that is over finds its best once more.
  options.resume = true;
  ASSERT_NE(nth_best(0), 12);
  trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_EQ((*trainer)->exported_step(), nth_best(1));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], ::testing::HasSubstr(absl::StrCat("those of step ", nth_best(1),
                                                             " are exported, the best that are")));
}

TEST_F(TrainerInterruptTest, CheckpointsOfAnotherTrainingAreNotReplaced) {
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("earlier");
  ASSERT_TRUE(Train(Config("steps: 2"), options).ok());
  const auto refused = Train(Config("steps: 3"), options);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAlreadyExists);
  options.overwrite = true;
  EXPECT_TRUE(Train(Config("steps: 3"), options).ok());
}

}  // namespace
}  // namespace onward::training
