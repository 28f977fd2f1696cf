// Trainings of several ranks make the steps of one rank that has the whole batch.
#include <atomic>
#include <cmath>
#include <thread>

#include "absl/strings/match.h"
#include "collectives/in_process.h"
#include "graph/ir/graph_edit.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::kSide;
using testing::Normal;

// What a training of one rank, or of several, did.
struct Ran {
  std::vector<StepReport> reports;  // of rank 0
  std::vector<EvaluationReport> evaluations;
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<absl::Status> outcomes;
};

class RanksTest : public testing::TrainerTest {
 protected:
  Ran Run(const std::vector<TrainConfig>& configs, const TrainerOptions& given = {}) {
    const auto size = static_cast<int>(configs.size());
    Ran ran;
    ran.trainers.resize(configs.size());
    ran.outcomes.resize(configs.size());
    std::vector<std::unique_ptr<Communicator>> ends = collectives::InProcessRanks(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank, end = std::move(ends[static_cast<size_t>(rank)])]() mutable {
        TrainerOptions options = given;
        options.directory = scratch_.path();
        if (size > 1) options.communicator = std::move(end);
        if (rank == 0) {
          options.on_step = [&](const StepReport& report) { ran.reports.push_back(report); };
          options.on_evaluation = [&](const EvaluationReport& report) {
            ran.evaluations.push_back(report);
          };
        }
        const auto at = static_cast<size_t>(rank);
        auto trainer = Trainer::Create(configs[at], std::move(options));
        ran.outcomes[at] = trainer.ok() ? (*trainer)->Run() : trainer.status();
        if (ran.outcomes[at].ok()) ran.trainers[at] = *std::move(trainer);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ran;
  }
  Ran Run(const TrainConfig& config, int size, const TrainerOptions& options = {}) {
    return Run(std::vector<TrainConfig>(static_cast<size_t>(size), config), options);
  }

  static void ExpectSame(const Ran& got, const Ran& want, double tolerance = 2e-5) {
    for (const absl::Status& outcome : got.outcomes) ASSERT_TRUE(outcome.ok()) << outcome;
    ASSERT_TRUE(want.outcomes[0].ok()) << want.outcomes[0];
    ASSERT_EQ(got.reports.size(), want.reports.size());
    for (size_t i = 0; i < want.reports.size(); ++i) {
      const double loss = want.reports[i].loss;
      EXPECT_EQ(got.reports[i].skipped, want.reports[i].skipped) << "step " << i + 1;
      EXPECT_EQ(got.reports[i].loss_scale, want.reports[i].loss_scale) << "step " << i + 1;
      EXPECT_EQ(got.reports[i].examples, want.reports[i].examples) << "step " << i + 1;
      if (std::isfinite(loss)) {
        EXPECT_NEAR(got.reports[i].loss, loss, tolerance * std::max(1.0, std::abs(loss)))
            << "step " << i + 1;
      } else {
        EXPECT_FALSE(std::isfinite(got.reports[i].loss)) << "step " << i + 1;
      }
    }
    ASSERT_EQ(got.evaluations.size(), want.evaluations.size());
    for (size_t i = 0; i < want.evaluations.size(); ++i) {
      EXPECT_NEAR(got.evaluations[i].evaluation.loss, want.evaluations[i].evaluation.loss, 1e-4);
      EXPECT_EQ(got.evaluations[i].best, want.evaluations[i].best);
    }
    Trainer& whole = *want.trainers[0];
    for (const std::string& name : whole.state_names()) {
      const Tensor a = *got.trainers[0]->State(name), b = *whole.State(name);
      if (a.dtype() != DType::kFloat32) continue;
      ASSERT_EQ(a.dims(), b.dims()) << name;
      for (int64_t i = 0; i < a.num_elements(); ++i)
        ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i],
                    tolerance * std::max(1.0f, std::abs(b.data<float>()[i])))
            << name << ", element " << i;
    }
    for (const auto& trainer : got.trainers) ExpectSameState(*trainer, *got.trainers[0]);
  }

  // A convolutional net with a Dropout behind each layer.
  void WriteConvolutional() {
    GraphBuilder builder("cnn");
    const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
    const auto drop = [&](const Expr& x) {
      return Op("Dropout", {x, builder.Constant(Tensor::Scalar(0.3f)),
                            builder.Constant(Tensor::Scalar(true))});
    };
    const Expr features =
        drop(Relu(Op("Conv", {image, builder.Constant(Normal({5, 1, 3, 3}, 0.3, 1), "conv.weight"),
                              builder.Constant(Normal({5}, 0.1, 2), "conv.bias")})));
    const Expr flat = drop(Op("Flatten", {features}));
    builder.Output("logits", Gemm(flat, builder.Constant(Normal({80, 3}, 0.2, 3), "fc.weight"),
                                  builder.Constant(Normal({3}, 0.1, 4), "fc.bias")));
    ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  }

  TrainConfig CharGpt(const std::string& more) {
    std::string text;
    std::mt19937 random(5);
    for (int i = 0; i < 900; ++i) text += static_cast<char>('a' + random() % 20);
    scratch_.Write("input.txt", text);
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(absl::StrCat(R"(
        built { name: "gpt"
          options { key: "vocabulary" value: 20 } options { key: "layers" value: 2 }
          options { key: "width" value: 16 } options { key: "heads" value: 2 }
          options { key: "context" value: 12 } options { key: "dropout" value: 0.2 } }
        loss { cross_entropy { class_axis: -1 } } optimizer { adamw { lr: 1e-3 } }
        clip { global_norm: 1 }
        data { text { path: "input.txt" tokens: CHARACTERS window: 12 random: true } }
        batch_size: 6 steps: 8 )",
                                                                           more),
                                                              &config));
    return config;
  }
};

TEST_F(RanksTest, LossesAreThoseOfTheWholeBatch) {
  const TrainConfig config = Config("epochs: 2");
  const Ran whole = Run(config, 1);
  for (const int size : {2, 3, 4}) {
    SCOPED_TRACE(size);
    ExpectSame(Run(config, size), whole);
  }
}

TEST_F(RanksTest, EachOfSeveralLossesIsThatOfTheWholeBatch) {
  for (const char* accumulate : {"", "accumulate: 2"}) {
    SCOPED_TRACE(accumulate);
    const TrainConfig config = Config(
        absl::StrCat("epochs: 1 auxiliary_loss { multi_margin {} factor: 0.3 } ", accumulate));
    const Ran whole = Run(config, 1), ranks = Run(config, 3);
    ExpectSame(ranks, whole);
    for (size_t i = 0; i < whole.reports.size(); ++i) {
      ASSERT_EQ(ranks.reports[i].losses.size(), 2u);
      for (size_t j = 0; j < 2; ++j)
        EXPECT_NEAR(ranks.reports[i].losses[j], whole.reports[i].losses[j], 2e-5) << i;
    }
  }
}

// The name that training gives to the rank's share of the rows.
TEST_F(RanksTest, AModelMayHaveAValueOfTheNameOfTheShare) {
  const TrainConfig config = Config("epochs: 1 average { decay: 0.5 }");
  const Ran whole = Run(config, 1);
  for (const bool input : {false, true}) {
    SCOPED_TRACE(input);
    Model model = *Mlp();
    Graph& graph = model.graph;
    const ValueId hidden = graph.node(graph.value(graph.outputs()[0]).producer).inputs[0];
    GraphEdit(graph).Rename(input ? graph.inputs()[0] : hidden, "batch/share");
    ASSERT_TRUE(ExportFile(model, scratch_.path("mlp.onnx")).ok());
    TrainConfig named = config;
    if (input) {
      for (DataConfig* data : {named.mutable_data(), named.mutable_evaluation()->mutable_data()})
        (*data->mutable_inputs())["batch/share"] = "image";
    }
    ExpectSame(Run(named, 1), whole);
    ExpectSame(Run(named, 2), whole);
  }
}

TEST_F(RanksTest, UnevenBatchesToo) {
  // The last batch has 96 % 13 = 5 rows, or one: some ranks have none.
  for (const int batch : {13, 5, 19}) {
    SCOPED_TRACE(batch);
    TrainConfig config = Config("epochs: 2 data { drop_last: false }");
    config.set_batch_size(batch);
    ExpectSame(Run(config, 4), Run(config, 1));
  }
}

TEST_F(RanksTest, DropoutDrawsByTheRowOfTheWholeBatch) {
  WriteConvolutional();
  TrainConfig config = Config("epochs: 2 data { drop_last: false }");
  config.set_batch_size(11);
  const Ran whole = Run(config, 1);
  ExpectSame(Run(config, 2), whole);
  ExpectSame(Run(config, 3), whole);
}

TEST_F(RanksTest, CharGptWithDropoutClippingAndAdamW) {
  const TrainConfig config = CharGpt("");
  const Ran whole = Run(config, 1);
  ExpectSame(Run(config, 2), whole, 2e-4);
  ExpectSame(Run(config, 4), whole, 2e-4);
}

TEST_F(RanksTest, TargetsThatAreIgnoredCountForNothing) {
  TrainConfig config =
      Config("epochs: 2 loss { cross_entropy { ignore_index: 1 } } data { drop_last: false }");
  config.set_batch_size(7);
  ExpectSame(Run(config, 3), Run(config, 1));
  config.set_accumulate(2);
  ExpectSame(Run(config, 3), Run(config, 1));
}

TEST_F(RanksTest, AccumulatedStepsAndBoundedGradients) {
  TrainConfig config = Config(
      "epochs: 2 accumulate: 2 clip { global_norm: 0.1 } data { drop_last: false } "
      "log { gradient_norms: true }");
  config.set_batch_size(9);
  const Ran whole = Run(config, 1), two = Run(config, 2);
  ExpectSame(two, whole);
  for (size_t i = 0; i < whole.reports.size(); ++i)
    EXPECT_NEAR(*two.reports[i].gradient_norm, *whole.reports[i].gradient_norm, 1e-5);
}

TEST_F(RanksTest, SummedLossesWeightsOfClassesAndAverages) {
  const TrainConfig summed =
      Config("epochs: 1 loss { reduction: SUM } optimizer { sgd { lr: 0.01 } }");
  ExpectSame(Run(summed, 2), Run(summed, 1));
  const TrainConfig config = Config(
      "epochs: 2 average { decay: 0.9 } loss { cross_entropy { weight: 0.5 weight: 2 weight: 1.25 "
      "label_smoothing: 0.1 } }");
  ExpectSame(Run(config, 3), Run(config, 1));
}

TEST_F(RanksTest, LbfgsTakesTheSamePoints) {
  // After more iterations the losses are so small that sums in another order part the points.
  const TrainConfig config =
      Config("steps: 6 accumulate: 2 optimizer { lbfgs { lr: 0.2 max_iter: 5 } }");
  ExpectSame(Run(config, 2), Run(config, 1));
}

TEST_F(RanksTest, RanksSkipAStepTogether) {
  const TrainConfig config = Config(
      "epochs: 2 precision { autocast: FLOAT16 arithmetic: STRICT loss_scale: 4e8 "
      "backoff: 0.015625 }");
  const Ran whole = Run(config, 1);
  int skipped = 0;
  for (const StepReport& report : whole.reports) skipped += report.skipped;
  EXPECT_EQ(skipped, 2);
  ExpectSame(Run(config, 2), whole, 5e-3);  // float16 rounds sums of other rows
}

// Statistics are those of each rank's rows; the running ones are their mean, on every rank.
TEST_F(RanksTest, RunningStatisticsStayAlike) {
  WriteNormalized(/*dropout=*/true);
  const Ran ran = Run(Config("epochs: 2"), 2), whole = Run(Config("epochs: 2"), 1);
  for (const absl::Status& outcome : ran.outcomes) ASSERT_TRUE(outcome.ok()) << outcome;
  ExpectSameState(*ran.trainers[1], *ran.trainers[0]);
  // A mean over rows of equal ranks is that of the batch.
  EXPECT_NEAR(Weights(*ran.trainers[0], "mean")[0], Weights(*whole.trainers[0], "mean")[0], 1e-6);
}

TEST_F(RanksTest, PatienceAndPlateausAreTheSameOnAllRanks) {
  TrainConfig config = Config(
      "epochs: 40 schedule { plateau { patience: 1 factor: 0.5 } } "
      "evaluation { patience: 4 }");
  EvaluateOnOtherLabels(config);
  const Ran whole = Run(config, 1);
  EXPECT_LT(whole.reports.size(), 40u * 6);
  ExpectSame(Run(config, 2), whole);
}

TEST_F(RanksTest, AnotherNumberOfRanksResumes) {
  TrainConfig config = Config("epochs: 2 evaluation { every_steps: 4 }");
  const Ran whole = Run(config, 1);
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("checkpoints");
  config.mutable_checkpoint()->set_every_steps(1);
  TrainConfig first = config;
  first.set_epochs(1);
  Ran ran = Run(first, 2, options);
  for (const absl::Status& outcome : ran.outcomes) ASSERT_TRUE(outcome.ok()) << outcome;
  const size_t done = ran.reports.size();
  ran = Ran();  // one training at a time writes there
  options.resume = true;
  first.set_epochs(2);
  first.clear_epochs();
  first.set_steps(static_cast<int64_t>(done) + 2);
  ran = Run(first, 1, options);
  ASSERT_TRUE(ran.outcomes[0].ok()) << ran.outcomes[0];
  ASSERT_EQ(ran.reports.size(), 2u);
  EXPECT_NEAR(ran.reports[1].loss, whole.reports[done + 1].loss, 1e-5);
  ran = Ran();
  ran = Run(config, 3, options);
  for (const absl::Status& outcome : ran.outcomes) ASSERT_TRUE(outcome.ok()) << outcome;
  ASSERT_EQ(ran.reports.size(), whole.reports.size() - done - 2);
  EXPECT_NEAR(ran.reports.back().loss, whole.reports.back().loss, 1e-5);
  ExpectSameState(*ran.trainers[1], *ran.trainers[0]);
}

TEST_F(RanksTest, WhatOneRankIsAskedEndsAll) {
  TrainConfig config = Config("epochs: 50 accumulate: 2");
  std::atomic<int> asked{0};
  TrainerOptions options;
  options.interrupted = [&] { return ++asked > 30; };
  options.checkpoint_directory = scratch_.path("checkpoints");
  Ran ran = Run(config, 2, options);
  for (const absl::Status& outcome : ran.outcomes) ASSERT_TRUE(outcome.ok()) << outcome;
  EXPECT_EQ(ran.trainers[0]->end(), TrainingEnd::kStopped);
  EXPECT_EQ(ran.trainers[1]->end(), TrainingEnd::kStopped);
  EXPECT_EQ(ran.trainers[0]->steps_done(), ran.trainers[1]->steps_done());
  EXPECT_LT(ran.trainers[0]->steps_done(), 100);
  ExpectSameState(*ran.trainers[1], *ran.trainers[0]);
}

// As `onward explain` shows the nodes of a model.
TEST_F(RanksTest, ExplanationsShowTheSumsOverRanks) {
  for (const int accumulate : {1, 2}) {
    SCOPED_TRACE(accumulate);
    const TrainConfig config = Config(absl::StrCat("epochs: 1 accumulate: ", accumulate));
    const auto sums = [](const Trainer& trainer) {
      std::vector<std::string> nodes;
      for (const NodeExplanation& each : trainer.ExplainStep()) {
        if (!absl::StrContains(each.node, "AllReduce")) continue;
        EXPECT_EQ(each.provider, "cpu");
        EXPECT_FALSE(each.kernel.empty()) << each.node;
        nodes.push_back(each.node);
      }
      return nodes;
    };
    const Ran whole = Run(config, 1), two = Run(config, 2);
    for (const Ran* ran : {&whole, &two})
      for (const absl::Status& outcome : ran->outcomes) ASSERT_TRUE(outcome.ok()) << outcome;
    EXPECT_THAT(sums(*whole.trainers[0]), ::testing::IsEmpty());
    const std::vector<std::string> nodes = sums(*two.trainers[0]);
    EXPECT_EQ(nodes, sums(*two.trainers[1]));
    // The gradients, the loss, and the count of its targets.
    EXPECT_EQ(nodes.size(), two.trainers[0]->parameters().size() + 2);
    for (const std::string& name : two.trainers[0]->parameters())
      EXPECT_THAT(nodes, ::testing::Contains(HasSubstr("all_reduce/" + name + "/")));
  }
}

TEST_F(RanksTest, RanksThatAreNotAlikeAreRefused) {
  TrainConfig other = Config("epochs: 1");
  other.set_batch_size(8);
  Ran ran = Run(std::vector<TrainConfig>{Config("epochs: 1"), other});
  for (const absl::Status& outcome : ran.outcomes)
    EXPECT_EQ(outcome.message(), "the configuration of rank 1 differs from that of rank 0");
}

TEST_F(RanksTest, ARankThatFailsEndsTheOthers) {
  TrainConfig broken = Config("epochs: 1");
  broken.set_model("absent.onnx");
  const Ran ran = Run(std::vector<TrainConfig>{Config("epochs: 1"), broken});
  EXPECT_EQ(ran.outcomes[0].message(), "rank 1 ended in the preparation of the training");
  EXPECT_THAT(std::string(ran.outcomes[1].message()), HasSubstr("absent.onnx"));
}

}  // namespace
}  // namespace onward::training
