// Trainings that are given their model and data from memory, by Trainer and in a loop of one's own:
// trajectories are PyTorch's.
#include "onward/stepwise_trainer.h"

#include <cmath>

#include "tests/training/trainer/cases.h"
#include "training/data/collate.h"
#include "training/trainer/checkpoint_model.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct LossCase {
  const char* name;
  const char* config;
};
// Cases of steps over two batches of two: of one batch of four here.
constexpr LossCase kLosses[] = {
    {"bce_with_logits", "bce_with_logits { weight: [0.5, 2, 1.25] }"},
    {"classes_ignored", "cross_entropy {}"},
    {"classes_weighted", "cross_entropy { weight: [0.5, 2, 1.25] label_smoothing: 0.1 }"},
    {"mse", "mse {}"},
    {"tokens", "cross_entropy { class_axis: -1 }"},
};
constexpr int64_t kExamples = 7, kBatch = 4;
constexpr int kEpochs = 3;

class StepwiseTrainerTest : public testing::TrainerCaseTest {
 protected:
  Model Linear() {
    GraphBuilder b("linear");
    const Tensor& x = arrays_.at("data/x");
    const Expr input = x.rank() == 2 ? b.Input("x", DType::kFloat64, {"batch", 4})
                                     : b.Input("x", DType::kFloat64, {"batch", "time", 4});
    b.Output("y", MatMul(input, b.Constant(arrays_.at("start/weight"), "weight")));
    return *b.Build();
  }
  static TrainConfig Settings(const std::string& loss, const std::string& more = "") {
    const auto config = ParseTrainConfig(
        absl::StrCat("loss {", loss, "} optimizer { sgd { lr: 0.5 momentum: 0.5 } } ",
                     "clip { global_norm: 0.6 } ", more));
    EXPECT_TRUE(config.ok()) << config.status();
    return config.value_or(TrainConfig());
  }
  // "x" and "label", of which the second is not an input of the model.
  std::vector<Field> Targets() const {
    const Tensor& label = arrays_.at("data/label");
    return {{"label", Type::Tensor(label.dtype(), label.dims().subspan(1))}};
  }
  StepwiseTrainer::Batch Rows(int64_t begin) const {
    const int64_t rows = std::min(kBatch, kExamples - begin);
    return {{"x", RowsOf(arrays_.at("data/x"), begin, rows)},
            {"label", RowsOf(arrays_.at("data/label"), begin, rows)}};
  }
  absl::StatusOr<std::unique_ptr<StepwiseTrainer>> Open(const std::string& more = "") {
    Load("accumulate_classes_weighted_2");
    return StepwiseTrainer::Create(Linear(), Settings("cross_entropy {}", more), Targets());
  }
  std::string Error(const std::string& more) {
    const auto trainer = Open(more);
    return trainer.ok() ? "OK" : std::string(trainer.status().message());
  }
};

TEST_F(StepwiseTrainerTest, StepsArePyTorchs) {
  for (const LossCase& each : kLosses) {
    SCOPED_TRACE(each.name);
    Load(absl::StrCat("accumulate_", each.name, "_2"));
    const auto trainer = StepwiseTrainer::Create(Linear(), Settings(each.config), Targets());
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_THAT((*trainer)->parameters(), ElementsAre("weight"));
    const double* want = arrays_.at("losses").data<double>();
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      for (int64_t begin = 0; begin < kExamples; begin += kBatch) {
        const auto loss = (*trainer)->Step(Rows(begin));
        ASSERT_TRUE(loss.ok()) << loss.status();
        EXPECT_NEAR(*loss, *want, 1e-5 * std::max(1.0, *want)) << (*trainer)->steps_done();
        ++want;
      }
    }
    const auto weight = (*trainer)->State("weight");
    ASSERT_TRUE(weight.ok()) << weight.status();
    ExpectNear(*weight, arrays_.at("want/weight"), "weight", 1e-6);
    // The whole data in inference mode, and of the exported model too.
    const StepwiseTrainer::Batch all = {{"x", arrays_.at("data/x")},
                                        {"label", arrays_.at("data/label")}};
    const auto loss = (*trainer)->Loss(all);
    ASSERT_TRUE(loss.ok()) << loss.status();
    const double evaluated = arrays_.at("evaluation").data<double>()[0];
    EXPECT_NEAR(*loss, evaluated, 1e-5 * std::max(1.0, evaluated));
    ASSERT_TRUE((*trainer)->Export(scratch_.path("model.onnx")).ok());
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(SameBits(*model->graph.constant(model->graph.FindValue("weight")), *weight));
  }
}

TEST_F(StepwiseTrainerTest, TrainerTakesModelAndDataFromMemory) {
  for (const LossCase& each : kLosses) {
    SCOPED_TRACE(each.name);
    Load(absl::StrCat("accumulate_", each.name, "_2"));
    TrainerOptions options;
    options.model = Linear();
    options.data = *TensorDataset(
        {{"x", arrays_.at("data/x")}, {"label", arrays_.at("data/label")}}, "memory");
    options.evaluation_data = options.data;
    std::vector<double> losses;
    options.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
    TrainConfig config =
        Settings(each.config, "data { shuffle: false drop_last: false } export { weights: LAST }");
    config.set_batch_size(kBatch);
    config.set_epochs(kEpochs);
    const auto trainer = Trainer::Create(config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    ASSERT_TRUE((*trainer)->Run().ok());
    const Tensor& want = arrays_.at("losses");
    ASSERT_EQ(static_cast<int64_t>(losses.size()), want.num_elements());
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], want.data<double>()[i], 1e-5 * std::max(1.0, losses[i])) << i;
    ExpectState(**trainer, "weight", "want/weight", 1e-6);
    const auto evaluation = (*trainer)->Evaluate();
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(evaluation->examples, kExamples);
    // The program's own model is as it was.
    EXPECT_TRUE(SameBits(*options.model->graph.constant(options.model->graph.FindValue("weight")),
                         arrays_.at("start/weight")));
  }
}

TEST_F(StepwiseTrainerTest, TrainingsThatAreGivenTheirModelResume) {
  Load("accumulate_classes_weighted_2");
  TrainConfig config =
      Settings("cross_entropy {}", "data {} batch_size: 3 epochs: 4 checkpoint { every_steps: 1 }");
  TrainerOptions options;
  options.model = Linear();
  options.data = *TensorDataset({{"x", arrays_.at("data/x")}, {"label", arrays_.at("data/label")}});
  const auto weight = [&](const TrainerOptions& given) {
    const auto trainer = Trainer::Create(config, given);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    if (!trainer.ok()) return Tensor();
    const absl::Status run = (*trainer)->Run();
    EXPECT_TRUE(run.ok()) << run;
    return *(*trainer)->State("weight");
  };
  const Tensor want = weight(options);
  options.checkpoint_directory = scratch_.path("checkpoints");
  options.stop = [steps = 0]() mutable { return ++steps == 3; };
  EXPECT_FALSE(SameBits(weight(options), want));
  options.stop = nullptr;
  options.resume = true;
  EXPECT_TRUE(SameBits(weight(options), want));
  // Nobody but the program has the model.
  const auto model = ModelOfCheckpoint(config, "", LoadedCheckpoint(), "", nullptr);
  EXPECT_THAT(model.status().message(), HasSubstr("let Trainer::Export write it"));
}

TEST_F(StepwiseTrainerTest, WhatIsGivenTwiceIsRefused) {
  Load("accumulate_mse_2");
  const auto error = [&](const std::string& more, TrainerOptions options) {
    const auto trainer = Trainer::Create(Settings("mse {}", "epochs: 1 " + more), options);
    return trainer.ok() ? "OK" : std::string(trainer.status().message());
  };
  TrainerOptions options;
  options.model = Linear();
  const std::string file = "data { safetensors { path: 'data.safetensors' } } ";
  EXPECT_THAT(error("model: 'model.onnx' " + file, options),
              HasSubstr("model must be left out: TrainerOptions::model gives the model"));
  options.data = *TensorDataset({{"x", arrays_.at("data/x")}});
  EXPECT_THAT(error(file, options), HasSubstr("the config names a source, and TrainerOptions"));
  EXPECT_THAT(error("batch_size: 4 data {}", options),
              HasSubstr("loss.target: the data has no field 'label'"));
  options.data = nullptr;
  EXPECT_THAT(error("", options), HasSubstr("data is missing"));
}

TEST_F(StepwiseTrainerTest, FieldsOfAWholeTrainingAreRefused) {
  EXPECT_EQ(Error(""), "OK");
  for (const char* const field :
       {"epochs: 3", "model: 'x.onnx'", "evaluation { data {} }", "max_memory: '1GB'",
        "schedule { cosine {} }", "log { tensorboard: true }", "log { histogram_steps: 2 }",
        "recompute { memory_budget: '1GB' }"}) {
    EXPECT_THAT(Error(field), HasSubstr("is a part of Trainer, not of single steps")) << field;
  }
  EXPECT_THAT(Error("data { npz { path: 'x' } }"), HasSubstr("data's source"));
  EXPECT_THAT(Error("head { of: 'y' outputs: 0 }"), HasSubstr("head"));
  EXPECT_THAT(Error("frozen: 'wight'"), HasSubstr("did you mean 'weight'?"));
}

TEST_F(StepwiseTrainerTest, BadBatchesLeaveTheWeights) {
  const auto trainer = Open();
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const Tensor before = (*trainer)->State("weight")->Clone();
  const auto error = [&](const StepwiseTrainer::Batch& batch) {
    const auto loss = (*trainer)->Step(batch);
    return loss.ok() ? "OK" : std::string(loss.status().message());
  };
  StepwiseTrainer::Batch batch = Rows(0);
  EXPECT_THAT(error({}), HasSubstr("the data has no field 'x'; it has none"));
  EXPECT_THAT(error({{"x", batch["x"]}}), HasSubstr("the data has no field 'label'; it has x"));
  batch["label"] = Tensor::Of<int64_t>({4}, {0, 1, 3, 0});
  EXPECT_THAT(error(batch), AllOf(HasSubstr("step 1:"), HasSubstr("row 2 of batch 0")));
  batch["label"] = Tensor::Of<int64_t>({3}, {0, 1, 2});
  EXPECT_THAT(error(batch), HasSubstr("label"));
  batch["label"] = Tensor::Of<float>({4}, {0, 1, 2, 0});
  EXPECT_THAT(error(batch), HasSubstr("label"));
  EXPECT_TRUE(SameBits(*(*trainer)->State("weight"), before));
  EXPECT_EQ((*trainer)->steps_done(), 0);
  EXPECT_EQ(error(Rows(0)), "OK");
}

TEST_F(StepwiseTrainerTest, RatesStatesAndPredictions) {
  const auto trainer = Open();
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const Tensor before = (*trainer)->State("weight")->Clone();
  ASSERT_TRUE((*trainer)->SetRateFactor(0).ok());
  ASSERT_TRUE((*trainer)->Step(Rows(0)).ok());
  EXPECT_TRUE(SameBits(*(*trainer)->State("weight"), before));
  ASSERT_TRUE((*trainer)->SetRateFactor(1).ok());
  ASSERT_TRUE((*trainer)->Step(Rows(0)).ok());
  EXPECT_FALSE(SameBits(*(*trainer)->State("weight"), before));
  // Back to where it was: the tensor that is given stays the caller's.
  ASSERT_TRUE((*trainer)->SetState("weight", before).ok());
  ASSERT_TRUE((*trainer)->Step(Rows(0)).ok());
  EXPECT_TRUE(SameBits(before, arrays_.at("start/weight")));
  EXPECT_FALSE((*trainer)->SetState("nothing", before).ok());
  EXPECT_FALSE((*trainer)->SetState("weight", Tensor::Scalar<float>(1)).ok());
  // Scores of a weight that prefers the last class.
  Tensor last = before.Clone();
  for (int64_t i = 0; i < last.num_elements(); ++i)
    last.mutable_data<double>()[i] = i % 3 == 2 ? 1 : 0;
  ASSERT_TRUE((*trainer)->SetState("weight", last).ok());
  StepwiseTrainer::Batch batch = Rows(0);
  for (int64_t i = 0; i < 16; ++i) batch["x"].mutable_data<double>()[i] = 1;
  const auto predicted = (*trainer)->Predict(batch);
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_TRUE(SameBits(*predicted, Tensor::Of<int64_t>({4}, {2, 2, 2, 2})));
}

}  // namespace
}  // namespace onward::training
