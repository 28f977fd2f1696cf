// Whole trainings on a few small images of three classes.
#include "training/trainer.h"

#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "graph/builder/builder.h"
#include "graph/builder/functions.h"
#include "gtest/gtest.h"
#include "onnx_io/export.h"
#include "onnx_io/import.h"
#include "tests/support/idx.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::Idx;
using testing::ScratchDirectory;
using ::testing::UnorderedElementsAre;

constexpr int kExamples = 96, kSide = 6, kClasses = 3;

Tensor Normal(DimsView dims, double deviation, unsigned seed) {
  Tensor tensor(DType::kFloat32, dims);
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, static_cast<float>(deviation));
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = draw(random);
  return tensor;
}

// Images of noise with a bright third, by class; an MLP with `dropout`.
class TrainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(3);
    std::string pixels, labels;
    for (int i = 0; i < kExamples; ++i) {
      const int label = i % kClasses;
      labels += static_cast<char>(label);
      for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x)
          pixels += static_cast<char>(random() % 100 + (y / 2 == label ? 120 : 0));
    }
    scratch_.Write("images", Idx({kExamples, kSide, kSide}, pixels));
    scratch_.Write("labels", Idx({kExamples}, labels));
    ASSERT_TRUE(ExportFile(*Mlp(), scratch_.path() + "/mlp.onnx").ok());
  }

  static absl::StatusOr<Model> Mlp() {
    GraphBuilder builder("mlp");
    const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
    const Expr hidden =
        Relu(Gemm(Op("Flatten", {image}), builder.Constant(Normal({36, 8}, 0.2, 1), "fc1.weight"),
                  builder.Constant(Normal({8}, 0.1, 2), "fc1.bias")));
    builder.Output("logits", Gemm(hidden, builder.Constant(Normal({8, 3}, 0.3, 3), "fc2.weight"),
                                  builder.Constant(Normal({3}, 0.1, 4), "fc2.bias")));
    return builder.Build();
  }

  static TrainConfig Config(const std::string& more = "") {
    TrainConfig config;
    const std::string data = "mnist { images: \"images\" labels: \"labels\" mean: 0.3 }";
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat(R"(model: "mlp.onnx" loss { kind: "cross_entropy" } batch_size: 16
                        optimizer { name: "SGD" options { key: "lr" value: 0.1 } })",
                     "data {", data, "} evaluation { data {", data, "} } ", more),
        &config));
    return config;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> Train(const TrainConfig& config,
                                                 TrainerOptions options = {}) {
    options.directory = scratch_.path();
    auto trainer = Trainer::Create(config, std::move(options));
    if (!trainer.ok()) return trainer.status();
    if (const absl::Status run = (*trainer)->Run(); !run.ok()) return run;
    return trainer;
  }
  std::string Error(const TrainConfig& config) {
    const auto trainer = Train(config);
    return trainer.ok() ? "OK" : std::string(trainer.status().message());
  }
  static std::vector<float> Weights(Trainer& trainer, const std::string& name) {
    const Tensor tensor = *trainer.session().State(name);
    return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
  }

  ScratchDirectory scratch_;
};

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
              UnorderedElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
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

TEST_F(TrainerTest, RunningStatisticsAreExported) {
  GraphBuilder builder("normalised");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  const auto constant = [&](float value, const char* name) {
    return builder.Constant(Tensor::Of<float>({1}, {value}), name);
  };
  const Expr normal = Op("BatchNormalization", {image, constant(1, "scale"), constant(0, "shift"),
                                                constant(0, "mean"), constant(1, "variance")});
  builder.Output("logits", Gemm(Op("Flatten", {normal}),
                                builder.Constant(Normal({36, 3}, 0.2, 1), "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  const auto trainer = Train(Config("epochs: 10"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto model = (*trainer)->TrainedModel();
  ASSERT_TRUE(model.ok()) << model.status();
  // After 60 steps with momentum 0.9 the statistics are those of the images.
  EXPECT_NEAR(model->graph.constant(model->graph.FindValue("mean"))->data<float>()[0], 0.05, 0.03);
  EXPECT_EQ((*trainer)->Evaluate()->accuracy(), 1.0);
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

TEST_F(TrainerTest, FrozenWeightsStayAndGroupsHaveTheirOwnRate) {
  const auto trainer = Train(Config(R"(steps: 5 frozen: "fc1.*"
      )"));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_THAT((*trainer)->parameters(), UnorderedElementsAre("fc2.weight", "fc2.bias"));
  const Tensor bias = Normal({3}, 0.1, 4);
  TrainConfig grouped = Config("steps: 5");
  auto* group = grouped.mutable_optimizer()->add_group();
  group->set_most_rank(1);
  (*group->mutable_options())["lr"] = 0;
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
  (*config.mutable_optimizer()->mutable_options())["lr"] = 0;
  config.mutable_evaluation()->set_patience(3);
  const auto trainer = Train(config);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_EQ((*trainer)->steps_done(), 4 * 6);
}

TEST_F(TrainerTest, ANonFiniteLossStopsOrIsSkipped) {
  TrainConfig config = Config("steps: 40");
  (*config.mutable_optimizer()->mutable_options())["lr"] = 1e30;
  EXPECT_THAT(Error(config), HasSubstr("the loss of step "));
  config.set_non_finite(TrainConfig::SKIP);
  int64_t skipped = 0;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) { skipped += report.skipped; };
  const auto trainer = Train(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_GT(skipped, 30);
}

TEST_F(TrainerTest, EqualSeedsGiveEqualWeightsForAnyNumberOfThreads) {
  const auto one = Train(Config("epochs: 2 threads: 1 seed: 7"));
  const auto two = Train(Config("epochs: 2 threads: 2 seed: 7"));
  const auto other = Train(Config("epochs: 2 threads: 2 seed: 8"));
  ASSERT_TRUE(one.ok() && two.ok() && other.ok());
  EXPECT_EQ(Weights(**one, "fc1.weight"), Weights(**two, "fc1.weight"));
  EXPECT_NE(Weights(**one, "fc1.weight"), Weights(**other, "fc1.weight"));
}

// Everything that may differ after a pause: momenta, averages, a plateau, dropped elements,
// running statistics, shuffled data in the middle of an epoch.
TEST_F(TrainerTest, GoesOnBitForBit) {
  GraphBuilder builder("everything");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  const auto constant = [&](float value, const char* name) {
    return builder.Constant(Tensor::Of<float>({1}, {value}), name);
  };
  const Expr normal = Op("BatchNormalization", {image, constant(1, "scale"), constant(0, "shift"),
                                                constant(0, "mean"), constant(1, "variance")});
  const Expr dropped = Op("Dropout", {Op("Flatten", {normal})});
  builder.Output("logits", Gemm(dropped, builder.Constant(Normal({36, 3}, 0.2, 1), "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  TrainConfig config = Config(R"(steps: 25 accumulate: 2 batch_size: 8 average { start: 3 }
      schedule { kind: "plateau" patience: 1 } checkpoint { every_steps: 100 })");
  config.mutable_evaluation()->set_every_steps(4);
  (*config.mutable_optimizer()->mutable_options())["momentum"] = 0.9;
  const auto whole = Train(config);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const int64_t pause : {1, 7, 24}) {
    SCOPED_TRACE(pause);
    TrainerOptions options;
    options.checkpoint_directory = scratch_.path() + absl::StrCat("/checkpoints", pause);
    options.resume = true;
    int64_t steps = 0;
    options.stop = [&] { return ++steps == pause; };
    auto begun = Train(config, options);
    ASSERT_TRUE(begun.ok()) << begun.status();
    ASSERT_EQ((*begun)->steps_done(), pause);
    begun->reset();  // gives the directory free
    options.stop = nullptr;
    const auto ended = Train(config, options);
    ASSERT_TRUE(ended.ok()) << ended.status();
    ASSERT_EQ((*ended)->steps_done(), 25);
    for (const std::string& name : (*whole)->session().state_names()) {
      const Tensor want = *(*whole)->session().State(name), got = *(*ended)->session().State(name);
      EXPECT_EQ(std::memcmp(want.raw_data(), got.raw_data(), want.byte_size()), 0) << name;
    }
  }
  TrainConfig other = config;
  other.set_seed(9);
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path() + "/checkpoints7";
  options.resume = true;
  EXPECT_THAT(std::string(Train(other, options).status().message()),
              HasSubstr("is of seed 0, the config has 9"));
}

// The exported step, run by ONNX Runtime on the same batch, gives the next state.
TEST_F(TrainerTest, TheExportedStepIsTheStepInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers was not run";
  TrainConfig config = Config("steps: 4");
  config.mutable_optimizer()->set_name("Adam");
  (*config.mutable_optimizer()->mutable_options())["lr"] = 0.01;
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
  TrainingSession& session = (*trainer)->session();
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

TEST_F(TrainerTest, AnomaliesAreNamedWithTheirNode) {
  TrainConfig config = Config("steps: 40 log { detect_anomaly: true }");
  (*config.mutable_optimizer()->mutable_options())["lr"] = 1e30;
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
  EXPECT_THAT(Error(Config("epochs: 1 recompute { memory_budget: \"1KB\" }")),
              HasSubstr("bytes at least, with every part of the forward pass computed again"));
  EXPECT_THAT(Error(Config("epochs: 1 recompute { memory_budget: \"2 gigs\" }")),
              HasSubstr("'2 gigs' is no number of bytes such as 2GiB or 500MB"));
}

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
    config.mutable_loss()->set_sum(true);
    (*config.mutable_optimizer()->mutable_options())["lr"] = 0.01;
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
      model: "ctc.onnx" loss { kind: "ctc" class_axis: -1 frames: "n" }
      optimizer { name: "Adam" options { key: "lr" value: 0.3 } } batch_size: 4 steps: 40
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
  config.mutable_loss()->set_frames("m");
  EXPECT_THAT(Error(config), HasSubstr("loss.frames: the data has no field 'm'"));
}

TEST_F(TrainerTest, Errors) {
  TrainConfig config = Config("steps: 1");
  config.mutable_loss()->set_kind("cross_entrophy");
  EXPECT_THAT(Error(config), HasSubstr("there is no loss 'cross_entrophy'; there are bce"));
  config = Config("steps: 1");
  config.mutable_loss()->set_target("labels");
  EXPECT_THAT(Error(config), HasSubstr("the data has no field 'labels'; it has image, label"));
  config = Config("steps: 1");
  config.mutable_loss()->set_output("scores");
  EXPECT_THAT(Error(config), HasSubstr("the model has no output 'scores'; it has logits"));
  config = Config("steps: 1");
  config.mutable_loss()->set_kind("output");
  EXPECT_THAT(Error(config), HasSubstr("no scalar"));
  config = Config("steps: 1");
  config.add_trainable("fc1.wieght");
  EXPECT_THAT(Error(config), HasSubstr("matches 'fc1.wieght'; did you mean 'fc1.weight'?"));
  config = Config("steps: 1");
  config.add_frozen("*");
  EXPECT_THAT(Error(config), HasSubstr("nothing is left to train"));
  config = Config("steps: 1");
  config.mutable_optimizer()->set_name("Sgd");
  EXPECT_THAT(Error(config), HasSubstr("there is no optimizer 'Sgd'"));
  config = Config("steps: 1 schedule { kind: \"cosinus\" }");
  EXPECT_THAT(Error(config), HasSubstr("there is no schedule 'cosinus'; there are constant"));
  config = Config("steps: 1 batch_size: 1000");
  EXPECT_THAT(Error(config), HasSubstr("a data set of 96 examples gives no batch of 1000"));
  config = Config("steps: 1");
  (*config.mutable_data()->mutable_inputs())["image"] = "picture";
  EXPECT_THAT(Error(config), HasSubstr("no field 'picture' but image, label"));
  config = Config("steps: 1");
  config.set_model("missing.onnx");
  EXPECT_THAT(Error(config), HasSubstr("missing.onnx"));
}

}  // namespace
}  // namespace onward
