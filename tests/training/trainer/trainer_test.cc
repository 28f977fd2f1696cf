// Whole trainings on a few small images of three classes.
#include <cmath>

#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::kExamples;
using testing::Normal;
using testing::TrainerTest;

TEST_F(TrainerTest, LearnsAndExportsWhatItEvaluates) {
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) { steps.push_back(report); };
  options.on_evaluation = [&](const EvaluationReport& report) { evaluations.push_back(report); };
  const auto trainer = Train(Config("epochs: 12"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_EQ(steps.size(), 72u);
  EXPECT_LT(steps.back().loss, steps.front().loss / 4);
  ASSERT_EQ(evaluations.size(), 12u);
  EXPECT_EQ(evaluations.back().evaluation.targets, kExamples);
  EXPECT_EQ(evaluations.back().evaluation.accuracy(), 1.0);
  EXPECT_THAT((*trainer)->parameters(),
              ::testing::UnorderedElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
  const std::string path = scratch_.path() + "/trained.onnx";
  ASSERT_TRUE((*trainer)->Export(path).ok());
  TrainConfig again = Config("epochs: 0");
  again.set_model(path);
  const auto loaded = Train(again);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto evaluation = (*loaded)->Evaluate();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->loss, evaluations.back().evaluation.loss);
}

TEST_F(TrainerTest, AccumulatedBatchesMakeTheStepOfTheLargeBatch) {
  const auto large = Train(Config("epochs: 2 batch_size: 32"));
  const auto small = Train(Config("epochs: 2 batch_size: 8 accumulate: 4"));
  ASSERT_TRUE(large.ok()) << large.status();
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ((*large)->steps_done(), (*small)->steps_done());
  const auto a = Weights(**large, "fc1.weight"), b = Weights(**small, "fc1.weight");
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-7) << i;
}

// The trained weights are in memory once, as are the optimizer's states.
// A weight that alone lies in a mapping, aligned, is written in place; the file stays as it is.
TEST_F(TrainerTest, WeightsThatAreMappedAreTrained) {
  TrainConfig config = Config("steps: 5");
  config.clear_evaluation();
  config.mutable_optimizer()->mutable_sgd()->set_momentum(0.9);
  const auto inlined = Train(config);
  ASSERT_TRUE(inlined.ok()) << inlined.status();
  ASSERT_TRUE(
      ExportFile(*Mlp(), scratch_.path() + "/mlp.onnx", {.external_data_threshold = 1000}).ok());
  for (int i = 0; i < 2; ++i) {
    const auto mapped = Train(config);
    ASSERT_TRUE(mapped.ok()) << mapped.status();
    for (const std::string& name : (*mapped)->parameters())
      EXPECT_EQ(Weights(**mapped, name), Weights(**inlined, name)) << name;
  }
}

TEST_F(TrainerTest, StateIsHeldOnce) {
  const auto trainer = Train(Config("steps: 2"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  for (const std::string& name : (*trainer)->state_names()) {
    const std::weak_ptr<const void> memory = (*trainer)->State(name)->buffer();
    EXPECT_EQ(memory.use_count(), 1) << name;
  }
}

TEST_F(TrainerTest, FrozenWeightsStayAndGroupsHaveTheirOwnRate) {
  const auto trainer = Train(Config(R"(steps: 5 frozen: "fc1.*"
      )"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_THAT((*trainer)->parameters(), ::testing::UnorderedElementsAre("fc2.weight", "fc2.bias"));
  const Tensor bias = Normal({3}, 0.1, 4);
  TrainConfig grouped = Config("steps: 5");
  auto* group = grouped.mutable_optimizer()->add_group();
  group->set_most_rank(1);
  group->mutable_sgd()->set_lr(0);
  const auto still = Train(grouped);
  ASSERT_TRUE(still.ok()) << still.status();
  EXPECT_EQ(Weights(**still, "fc2.bias"),
            std::vector<float>(bias.data<float>(), bias.data<float>() + 3));
  EXPECT_NE(Weights(**still, "fc2.weight"), Weights(**trainer, "fc2.weight"));
}

TEST_F(TrainerTest, AveragesFollowTheWeights) {
  TrainConfig config = Config("steps: 6 average { decay: 0.75 start: 2 }");
  std::vector<std::vector<float>> history;
  std::unique_ptr<Trainer> trainer;
  TrainerOptions options;
  options.directory = scratch_.path();
  options.on_step = [&](const StepReport&) { history.push_back(Weights(*trainer, "fc2.bias")); };
  auto made = Trainer::Create(config, options);
  ASSERT_TRUE(made.ok()) << made.status();
  trainer = *std::move(made);
  ASSERT_TRUE(trainer->Run().ok());
  std::vector<float> want = history[2];  // the first average is the weights after step 3
  for (size_t step = 3; step < 6; ++step)
    for (size_t i = 0; i < want.size(); ++i) want[i] += 0.25f * (history[step][i] - want[i]);
  const auto got = Weights(*trainer, "average/fc2.bias");
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-7) << i;
  const auto model = trainer->TrainedModel();
  ASSERT_TRUE(model.ok()) << model.status();
  const Tensor* exported = model->graph.constant(model->graph.FindValue("fc2.bias"));
  ASSERT_NE(exported, nullptr);
  EXPECT_EQ(exported->data<float>()[0], got[0]);
}

TEST_F(TrainerTest, EndsEarlyWithoutProgress) {
  TrainConfig config = Config("epochs: 50 ");
  config.mutable_optimizer()->mutable_sgd()->set_lr(0);
  config.mutable_evaluation()->set_patience(3);
  const auto trainer = Train(config);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_EQ((*trainer)->steps_done(), 4 * 6);
}

TEST_F(TrainerTest, WhatEndedEarlyStaysEndedUnlessThePatienceGrows) {
  TrainConfig config = Config("epochs: 50 ");
  config.mutable_optimizer()->mutable_sgd()->set_lr(0);
  config.mutable_evaluation()->set_patience(3);
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path() + "/checkpoints";
  options.resume = true;
  const auto steps = [&] {
    const auto trainer = Train(config, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return trainer.ok() ? (*trainer)->steps_done() : 0;
  };
  EXPECT_EQ(steps(), 4 * 6);
  EXPECT_EQ(steps(), 4 * 6);
  config.mutable_evaluation()->set_patience(4);
  EXPECT_EQ(steps(), 5 * 6);
}

TEST_F(TrainerTest, EqualSeedsGiveEqualWeightsForAnyNumberOfThreads) {
  const auto one = Train(Config("epochs: 2 threads: 1 seed: 7"));
  const auto two = Train(Config("epochs: 2 threads: 2 seed: 7"));
  const auto other = Train(Config("epochs: 2 threads: 2 seed: 8"));
  ASSERT_TRUE(one.ok() && two.ok() && other.ok());
  EXPECT_EQ(Weights(**one, "fc1.weight"), Weights(**two, "fc1.weight"));
  EXPECT_NE(Weights(**one, "fc1.weight"), Weights(**other, "fc1.weight"));
}

TEST_F(TrainerTest, GradientNormsAreThoseOfTheStep) {
  TrainConfig config = Config("steps: 1 clip { global_norm: 1e9 } log { gradient_norms: true }");
  StepReport report;
  TrainerOptions options;
  options.on_step = [&](const StepReport& each) { report = each; };
  const auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_EQ(report.gradient_norms.size(), 4u);
  double squares = 0;
  for (const auto& [name, norm] : report.gradient_norms) squares += norm * norm;
  EXPECT_NEAR(std::sqrt(squares), *report.gradient_norm, 1e-5);
  // The step is the rate times the gradient.
  const Tensor before = Normal({3}, 0.1, 4);
  const std::vector<float> after = Weights(**trainer, "fc2.bias");
  double moved = 0;
  for (size_t i = 0; i < 3; ++i)
    moved += std::pow(static_cast<double>(after[i] - before.data<float>()[i]) / 0.1, 2);
  EXPECT_NEAR(std::sqrt(moved), report.gradient_norms.at("fc2.bias"), 1e-5);
}

// Frames show their label, with a blank one between equal ones; targets are padded with -1.
TEST_F(TrainerTest, ConnectionistTemporalClassification) {
  GraphBuilder builder("frames");
  const Expr frames = builder.Input("frames", DType::kFloat32, {"batch", "time", 4});
  builder.Output("scores", MatMul(frames, builder.Constant(Normal({4, 4}, 0.2, 1), "weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/ctc.onnx").ok());
  scratch_.Write("ctc.jsonl", R"({"frames": [[0,1,0,0],[1,0,0,0],[0,1,0,0]], "label": [1,1], "n": 3}
{"frames": [[0,0,1,0],[0,0,0,1],[0,0,0,1]], "label": [2,3], "n": 3}
{"frames": [[0,0,0,1],[1,0,0,0]], "label": [3], "n": 2}
{"frames": [[0,1,0,0],[0,0,1,0],[0,0,0,1]], "label": [1,2,3], "n": 3}
)");
  TrainConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      model: "ctc.onnx" loss { ctc { class_axis: -1 input_lengths: "n" } }
      optimizer { adam { lr: 0.3 } } batch_size: 4 steps: 40
      data { jsonl { path: "ctc.jsonl" field { name: "frames" dim: -1 dim: 4 }
                     field { name: "label" element: INT64 dim: -1 }
                     field { name: "n" element: INT64 } }
             pad { key: "frames" value: 0 } pad { key: "label" value: -1 } })",
                                                            &config));
  std::vector<double> losses;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
  const auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_LT(losses.back(), 0.05 * losses.front());
  config.mutable_loss()->mutable_ctc()->set_input_lengths("m");
  EXPECT_THAT(Error(config), HasSubstr("loss.ctc.input_lengths: the data has no field 'm'"));
}

TEST_F(TrainerTest, HistogramsHaveTheGradientsAndWeightsOfTheirStep) {
  for (const std::string more :
       {"batch_size: 32", "batch_size: 16 accumulate: 2", "batch_size: 32 clip { value: 1e9 }"}) {
    SCOPED_TRACE(more);
    TrainConfig config = Config("steps: 4 log { tensorboard: true histogram_steps: 2 } " + more);
    std::vector<StepReport> reports;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { reports.push_back(report); };
    const auto trainer = Train(config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    ASSERT_EQ(reports.size(), 4u);
    EXPECT_TRUE(reports[0].gradients.empty() && reports[2].weights.empty());
    ASSERT_EQ(reports[1].gradients.size(), 4u);
    ASSERT_EQ(reports[3].weights.size(), 4u);
    // Of plain SGD a step is the rate times the gradient.
    const auto without = Train(Config("steps: 3 " + more));
    ASSERT_TRUE(without.ok()) << without.status();
    for (const auto& [name, gradient] : reports[3].gradients) {
      const Tensor& after = reports[3].weights.at(name);
      const std::vector<float> before = Weights(**without, name);
      ASSERT_EQ(gradient.dims(), after.dims());
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_NEAR(before[i] - 0.1f * gradient.data<float>()[i], after.data<float>()[i], 1e-6)
            << name << i;
      }
    }
  }
}

}  // namespace
}  // namespace onward::training
