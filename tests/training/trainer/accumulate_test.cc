// Steps over several batches are those of one batch with all their targets, as PyTorch makes it.
#include <cmath>

#include "graph/ir/graph_edit.h"
#include "tests/training/trainer/cases.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct LossCase {
  const char* name;
  const char* config;
  bool log_probabilities = false;
};
constexpr LossCase kLosses[] = {
    {"bce_with_logits", "bce_with_logits { weight: [0.5, 2, 1.25] }"},
    {"classes_ignored", "cross_entropy {}"},
    {"classes_sum", "cross_entropy {} reduction: SUM"},
    {"classes_weighted", "cross_entropy { weight: [0.5, 2, 1.25] label_smoothing: 0.1 }"},
    {"ctc", "ctc { class_axis: -1 }"},
    {"kl", "kl_div {}"},
    {"mse", "mse {}"},
    {"multi_label_soft_margin", "multi_label_soft_margin {}"},
    {"multi_margin", "multi_margin {}"},
    {"nll", "nll { weight: [0.5, 2, 1.25] }"},
    {"probabilities", "cross_entropy {}"},
    {"tokens", "cross_entropy { class_axis: -1 }"},
};

class AccumulateTest : public testing::TrainerCaseTest {
 protected:
  void Load(const std::string& name) {
    TrainerCaseTest::Load(name);
    GraphBuilder b("linear");
    const Tensor& x = arrays_.at("data/x");
    const Expr input = x.rank() == 2 ? b.Input("x", DType::kFloat64, {"batch", 4})
                                     : b.Input("x", DType::kFloat64, {"batch", "time", 4});
    b.Output("y", MatMul(input, b.Constant(arrays_.at("start/weight"), "weight")));
    ASSERT_TRUE(ExportFile(*b.Build(), scratch_.path("model.onnx")).ok());
  }

  static constexpr char kSteps[] = R"(
      optimizer { sgd { lr: 0.5 momentum: 0.5 } }
      clip { global_norm: 0.6 } epochs: 3 )";
};

TEST_F(AccumulateTest, StepsArePyTorchs) {
  for (const LossCase& each : kLosses) {
    for (const int accumulate : {2, 3}) {
      SCOPED_TRACE(absl::StrCat(each.name, " ", accumulate));
      Load(absl::StrCat("accumulate_", each.name, "_", accumulate));
      std::vector<StepReport> reports;
      TrainerOptions options;
      options.on_step = [&](const StepReport& report) { reports.push_back(report); };
      const auto trainer =
          testing::RunTrainer(Config(absl::StrCat(kSteps, "batch_size: 2 loss {", each.config,
                                                  "} accumulate: ", accumulate)),
                              scratch_.path(), options);
      ASSERT_TRUE(trainer.ok()) << trainer.status();
      ExpectState(**trainer, "weight", "want/weight", 1e-6);
      const Tensor& losses = arrays_.at("losses");
      ASSERT_EQ(static_cast<int64_t>(reports.size()), losses.num_elements());
      for (size_t i = 0; i < reports.size(); ++i) {
        const double want = losses.data<double>()[i];
        EXPECT_NEAR(reports[i].loss, want, 1e-5 * std::max(1.0, want)) << "step " << i;
        EXPECT_EQ(reports[i].examples, std::min<int64_t>(accumulate * 2, reports[i].examples));
      }
      // Evaluations are of all targets too, whatever the batches.
      for (const int batch : {1, 3, 7}) {
        TrainConfig config = Config(absl::StrCat("loss {", each.config, "} epochs: 0"));
        config.mutable_evaluation()->set_batch_size(batch);
        ASSERT_TRUE((*trainer)->Export(scratch_.path("trained.onnx")).ok());
        config.set_model("trained.onnx");
        config.set_batch_size(1);
        const auto loaded = testing::RunTrainer(config, scratch_.path(), {});
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        const auto evaluation = (*loaded)->Evaluate();
        ASSERT_TRUE(evaluation.ok()) << evaluation.status();
        double want = arrays_.at("evaluation").data<double>()[0];
        if (std::string(each.name) == "classes_sum") want /= 7;
        EXPECT_NEAR(evaluation->loss, want, 1e-5 * std::max(1.0, want)) << "batches of " << batch;
      }
    }
  }
}

// The same of LBFGS, which bounds the gradient of the step and not of its batches, and of a scaled
// loss: that loses and skips no more than one batch does.
TEST_F(AccumulateTest, OneBatchAndSeveralAreOneStep) {
  Load("accumulate_tokens_2");
  const std::string loss = "loss { cross_entropy { class_axis: -1 } } ";
  const auto train = [&](const std::string& more) {
    std::vector<StepReport> reports;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { reports.push_back(report); };
    const auto trainer = testing::RunTrainer(Config(loss + more), scratch_.path(), options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    std::vector<double> numbers;
    if (!trainer.ok()) return numbers;
    const Tensor weight = *(*trainer)->State("weight");
    for (int64_t i = 0; i < weight.num_elements(); ++i) numbers.push_back(Number(weight, i));
    for (const StepReport& report : reports) {
      numbers.push_back(report.loss);
      numbers.push_back(report.gradient_norm.value_or(0));
      numbers.push_back(static_cast<double>(report.skipped));
    }
    return numbers;
  };
  const auto expect_equal = [&](const std::string& more) {
    SCOPED_TRACE(more);
    const auto one = train(more + " batch_size: 7"),
               several = train(more + " batch_size: 2 accumulate: 4");
    ASSERT_EQ(one.size(), several.size());
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], several[i], 2e-5) << i;
  };
  const std::string lbfgs =
      "optimizer { lbfgs { max_iter: 3 line_search_fn: STRONG_WOLFE } } epochs: 2 ";
  expect_equal(lbfgs);
  expect_equal(lbfgs + "clip { global_norm: 0.2 } log { gradient_norms: true }");
  const std::string sgd = "optimizer { sgd { lr: 0.5 } } epochs: 3 ";
  expect_equal(sgd + "clip { value: 0.05 }");
  expect_equal(sgd + "clip { global_norm: 0.2 } precision { autocast: FLOAT16 }");
}

TEST_F(AccumulateTest, TheLastStepOfAnEpochHasWhatIsLeft) {
  Load("accumulate_mse_2");
  std::vector<int64_t> examples, epochs;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) {
    examples.push_back(report.examples);
    epochs.push_back(report.epoch);
  };
  const auto trainer =
      testing::RunTrainer(Config("loss { mse {} } batch_size: 1 accumulate: 3 epochs: 2 "
                                 "optimizer { sgd { lr: 0.1 } }"),
                          scratch_.path(), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_EQ(examples, (std::vector<int64_t>{3, 3, 1, 3, 3, 1}));
  EXPECT_EQ(epochs, (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ((*trainer)->steps_per_epoch(), 3);
}

TEST_F(AccumulateTest, MoreBatchesThanTheDataHaveAreRefused) {
  Load("accumulate_mse_2");
  for (const char* length : {"epochs: 4", "steps: 2"}) {
    const auto trainer =
        testing::RunTrainer(Config(absl::StrCat("loss { mse {} } batch_size: 2 accumulate: 5 ",
                                                length, " optimizer { sgd { lr: 0.1 } }")),
                            scratch_.path(), {});
    EXPECT_THAT(std::string(trainer.status().message()),
                HasSubstr("accumulate: a step of 5 batches is more than the data have: 4 batches "
                          "of 2 in an epoch of 7 examples"));
  }
}

// What the model computes itself counts by its examples.
TEST_F(AccumulateTest, LossesThatTheModelComputes) {
  Load("accumulate_mse_2");
  GraphBuilder b("with_loss");
  const Expr x = b.Input("x", DType::kFloat64, {"batch", 4});
  const Expr label = b.Input("label", DType::kFloat64, {"batch", 3});
  const Expr error = MatMul(x, b.Constant(arrays_.at("start/weight"), "weight")) - label;
  b.Output("error", ReduceMean(error * error, {}, false));
  ASSERT_TRUE(ExportFile(*b.Build(), scratch_.path("model.onnx")).ok());
  std::vector<std::string> warnings;
  TrainerOptions options;
  options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  const std::string loss = absl::StrCat(kSteps, "loss { from_model {} } ");
  const auto trainer =
      testing::RunTrainer(Config(loss + "batch_size: 2 accumulate: 2"), scratch_.path(), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ExpectState(**trainer, "weight", "want/weight", 1e-6);
  // Which targets such a loss leaves out nobody knows.
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("each of the 2 batches of a step counts by its "
                                              "examples; a loss that leaves targets out")));
  ASSERT_TRUE(testing::RunTrainer(Config(loss + "batch_size: 4"), scratch_.path(), options).ok());
  EXPECT_EQ(warnings.size(), 1u);
}

// A label of the second batch does not count: its mean has the weight of two examples even so.
TEST_F(AccumulateTest, ALossOfTheModelCountsByExamplesWhateverItLeavesOut) {
  Load("accumulate_mse_2");
  GraphBuilder b("with_loss");
  const Expr x = b.Input("x", DType::kFloat64, {"batch", 1});
  const Expr label = b.Input("label", DType::kInt64, {"batch"});
  const Expr scores = MatMul(x, b.Constant(Tensor::Of<double>({1, 3}, {0.5, -1, 0.25}), "weight"));
  b.Output("error",
           Op("SoftmaxCrossEntropyLoss", {scores, label}, {{"ignore_index", int64_t{-1}}}));
  ASSERT_TRUE(ExportFile(*b.Build(), scratch_.path("model.onnx")).ok());
  files::Safetensors data;
  data.tensors["x"] = Tensor::Of<double>({5, 1}, {1, 2, -1, 0.5, 3});
  data.tensors["label"] = Tensor::Of<int64_t>({5}, {0, 2, 1, -1, -1});
  ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
  double loss = 0;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) { loss = report.loss; };
  TrainConfig config = Config(
      "loss { from_model {} } steps: 1 batch_size: 2 accumulate: 2 "
      "optimizer { sgd { lr: 0 } }");
  config.mutable_data()->set_drop_last(true);
  const auto trainer = testing::RunTrainer(config, scratch_.path(), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  // -log softmax of each row at its label.
  const auto of = [](double value, int label) {
    const double scores[] = {0.5 * value, -value, 0.25 * value};
    return std::log(std::exp(scores[0]) + std::exp(scores[1]) + std::exp(scores[2])) -
           scores[label];
  };
  const double first = (of(1, 0) + of(2, 2)) / 2, second = of(-1, 1);
  EXPECT_NEAR(loss, (first + second) / 2, 1e-6);  // of one batch: (2 * first + second) / 3
}

// Parts of the forward pass are computed again in each of the batches of a step.
TEST_F(AccumulateTest, RecomputedBatchesAreOneStep) {
  Load("accumulate_tokens_2");
  GraphBuilder b("deep");
  Expr y = b.Input("x", DType::kFloat64, {"batch", "time", 4});
  for (int i = 0; i < 3; ++i) {
    Tensor weight(DType::kFloat64, {4, 4});
    for (int64_t j = 0; j < 16; ++j)
      weight.mutable_data<double>()[j] = std::sin(static_cast<double>(16 * i + j));
    y = Tanh(MatMul(y, b.Constant(weight, absl::StrCat("weight", i))));
  }
  b.Output("y", MatMul(y, b.Constant(arrays_.at("start/weight"), "weight")));
  absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  for (const NodeId id : model->graph.node_ids())
    GraphEdit(model->graph).node(id).name = absl::StrCat("node", id.index);
  ASSERT_TRUE(ExportFile(*model, scratch_.path("model.onnx")).ok());
  const auto train = [&](const std::string& more) {
    std::vector<double> numbers;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { numbers.push_back(report.loss); };
    const auto trainer = testing::RunTrainer(
        Config(absl::StrCat(kSteps, "loss { cross_entropy { class_axis: -1 } } ", more)),
        scratch_.path(), options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    if (!trainer.ok()) return numbers;
    for (const char* name : {"weight", "weight0", "weight1", "weight2"}) {
      const Tensor weight = *(*trainer)->State(name);
      for (int64_t i = 0; i < weight.num_elements(); ++i) numbers.push_back(Number(weight, i));
    }
    return numbers;
  };
  const std::string recompute = " recompute { segment: 'node0' segment: 'node1' segment: 'node3' }";
  const auto one = train("batch_size: 7"),
             several = train("batch_size: 2 accumulate: 4" + recompute);
  ASSERT_EQ(one.size(), several.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], several[i], 2e-5) << i;
  EXPECT_EQ(several, train("batch_size: 2 accumulate: 4"));
}

}  // namespace
}  // namespace onward::training
