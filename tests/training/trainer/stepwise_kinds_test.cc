// Steps in a loop of one's own, of the kinds that Trainer has: over several batches, of LBFGS, with
// averages, scaled losses, several ranks. Trajectories are PyTorch's in double (make_cases.py,
// optimizers/make_lbfgs_cases.py).
#include <cmath>
#include <thread>

#include "collectives/in_process.h"
#include "onward/stepwise_trainer.h"
#include "tests/training/trainer/cases.h"
#include "training/data/collate.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using Batch = StepwiseTrainer::Batch;
using Made = absl::StatusOr<std::unique_ptr<StepwiseTrainer>>;

class StepwiseKindsTest : public testing::TrainerCaseTest {
 protected:
  Model Linear() const {
    GraphBuilder b("linear");
    b.Output("y", MatMul(b.Input("x", DType::kFloat64, {"batch", 4}),
                         b.Constant(arrays_.at("start/weight"), "weight")));
    return *b.Build();
  }
  static TrainConfig Parsed(const std::string& text) {
    const auto config = ParseTrainConfig(text);
    EXPECT_TRUE(config.ok()) << config.status();
    return config.value_or(TrainConfig());
  }
  static TrainConfig Momentum(const std::string& more) {
    return Parsed(
        absl::StrCat("loss { cross_entropy { weight: [0.5, 2, 1.25] label_smoothing: 0.1 } } "
                     "optimizer { sgd { lr: 0.5 momentum: 0.5 } } clip { global_norm: 0.6 } ",
                     more));
  }
  std::vector<Field> Targets() const {
    const Tensor& label = arrays_.at("data/label");
    return {{"label", Type::Tensor(label.dtype(), label.dims().subspan(1))}};
  }
  int64_t examples() const { return arrays_.at("data/x").dims()[0]; }
  Batch Rows(int64_t begin, int64_t rows) const {
    rows = std::min(rows, examples() - begin);
    return {{"x", RowsOf(arrays_.at("data/x"), begin, rows)},
            {"label", RowsOf(arrays_.at("data/label"), begin, rows)}};
  }
  Made Open(const std::string& more, StepwiseOptions options = {}) const {
    return StepwiseTrainer::Create(Linear(), Momentum(more), Targets(), std::move(options));
  }
  void ExpectWeight(const StepwiseTrainer& trainer, const std::string& state,
                    const std::string& want) {
    const auto got = trainer.State(state);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectNear(*got, arrays_.at(want), state, 1e-6);
  }
};

TEST_F(StepwiseKindsTest, StepsOverSeveralBatchesArePyTorchsOfOne) {
  for (const int64_t accumulate : {2, 3}) {
    SCOPED_TRACE(accumulate);
    Load(absl::StrCat("accumulate_classes_weighted_", accumulate));
    const auto trainer = Open(absl::StrCat("accumulate: ", accumulate));
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const double* want = arrays_.at("losses").data<double>();
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (int64_t begin = 0; begin < examples();) {
        std::vector<Batch> batches;
        for (int64_t i = 0; i < accumulate && begin < examples(); ++i, begin += 2)
          batches.push_back(Rows(begin, 2));
        const auto loss = (*trainer)->StepOver(batches);
        ASSERT_TRUE(loss.ok()) << loss.status();
        EXPECT_NEAR(*loss, *want++, 1e-5);
        EXPECT_GT((*trainer)->last_step().gradient_norm, 0);
      }
    }
    ExpectWeight(**trainer, "weight", "want/weight");
    const std::vector<Batch> many(static_cast<size_t>(accumulate) + 1, Rows(0, 2));
    EXPECT_THAT((*trainer)->StepOver(many).status().message(), HasSubstr("accumulate allows 1 to"));
    EXPECT_THAT((*trainer)->StepOver({}).status().message(), HasSubstr("a step of 0 batches"));
  }
}

// The sums of a first batch must not join the next step, where a second batch is refused.
TEST_F(StepwiseKindsTest, ABadBatchOfSeveralLeavesNothing) {
  Load("accumulate_classes_weighted_2");
  const auto trainer = Open("accumulate: 2"), other = Open("accumulate: 2");
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  std::vector<Batch> batches = {Rows(0, 2), Rows(2, 2)};
  batches[1]["label"] = Tensor::Of<int64_t>({2}, {0, 7});
  EXPECT_THAT((*trainer)->StepOver(batches).status().message(), HasSubstr("row 1 of batch 1"));
  EXPECT_EQ((*trainer)->steps_done(), 0);
  for (StepwiseTrainer* each : {trainer->get(), other->get()})
    ASSERT_TRUE(each->Step(Rows(0, 2)).ok());
  EXPECT_TRUE(SameBits(*(*trainer)->State("weight"), *(*other)->State("weight")));
}

TEST_F(StepwiseKindsTest, LbfgsIsPyTorchs) {
  auto arrays =
      files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/optimizers/cases/lbfgs_mlp_wolfe.npz");
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  arrays_ = {arrays->begin(), arrays->end()};
  GraphBuilder b("mlp");
  const auto parameter = [&](const char* each) {
    return b.Constant(arrays_.at(absl::StrCat("start/", each)), each);
  };
  const Expr data = b.Input("data", DType::kFloat64, {"batch", 3});
  const Expr hidden = Tanh(MatMul(data, parameter("w1")) + parameter("b1"));
  b.Output("y", MatMul(hidden, parameter("w2")) + parameter("b2"));
  const Tensor& target = arrays_.at("target");
  const auto trainer = StepwiseTrainer::Create(
      *b.Build(),
      Parsed("loss { mse {} target: 'target' } optimizer { lbfgs { max_iter: 4 "
             "line_search_fn: STRONG_WOLFE } }"),
      {{"target", Type::Tensor(target.dtype(), target.dims().subspan(1))}});
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  for (int64_t step = 0; step < 10; ++step) {
    const auto loss = (*trainer)->Step({{"data", arrays_.at("data")}, {"target", target}});
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_NEAR(*loss, arrays_.at("loss").data<double>()[step], 1e-6) << step;
  }
  for (const std::string& name : (*trainer)->parameters()) {
    const Tensor got = *(*trainer)->State(name);
    const double* want = arrays_.at("after/" + name).data<double>() + 9 * got.num_elements();
    for (int64_t i = 0; i < got.num_elements(); ++i)
      EXPECT_NEAR(got.data<double>()[i], want[i], 1e-5 * std::max(1.0, std::fabs(want[i]))) << name;
  }
}

TEST_F(StepwiseKindsTest, AveragesArePyTorchs) {
  const std::tuple<const char*, const char*, int> cases[] = {
      {"average_exponential", "average { decay: 0.8 start: 3 }", 14},
      {"average_uniform", "average { kind: UNIFORM start: 4 every: 2 }", 15}};
  for (const auto& [name, average, steps] : cases) {
    SCOPED_TRACE(name);
    Load(name);
    const auto trainer = StepwiseTrainer::Create(
        NormalizedNet(),
        Parsed(absl::StrCat("loss { cross_entropy {} } optimizer { sgd { lr: 0.3 } } ", average)),
        Targets());
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    for (int step = 0; step < steps; ++step)
      ASSERT_TRUE((*trainer)->Step(Rows(step % 6 * 4, 4)).ok());
    const Batch all = Rows(0, examples());
    const bool is_uniform = std::string(name) == "average_uniform";
    EXPECT_EQ((*trainer)->Loss(all).status().code(),
              is_uniform ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kOk);
    EXPECT_EQ((*trainer)->TrainedModel().ok(), !is_uniform);
    int64_t batch = 0;
    const auto next = [&]() -> absl::StatusOr<std::optional<Batch>> {
      if (batch == 6) return std::nullopt;
      return Rows(batch++ * 4, 4);
    };
    const absl::Status updated = (*trainer)->UpdateAverageStatistics(next);
    ASSERT_TRUE(updated.ok()) << updated;
    const auto loss = (*trainer)->Loss(all);
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_NEAR(*loss, arrays_.at("evaluation").data<double>()[0], 1e-5);
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    for (const char* state : testing::kNetStates) {
      ExpectNear(*model->graph.constant(model->graph.FindValue(state)),
                 arrays_.at(absl::StrCat("want/", state)), state, 1e-6);
    }
  }
}

// As torch.amp.GradScaler: half the scale after each step that overflows, twice after
// growth_interval steps that do not.
TEST_F(StepwiseKindsTest, ScalesOfTheLossAreGradScalers) {
  Load("accumulate_classes_weighted_2");
  GraphBuilder b("linear");
  const Tensor& start = arrays_.at("start/weight");
  Tensor weight(DType::kFloat32, start.dims());
  for (int64_t i = 0; i < start.num_elements(); ++i)
    weight.mutable_data<float>()[i] = static_cast<float>(start.data<double>()[i]);
  b.Output("y", MatMul(b.Input("x", DType::kFloat32, {"batch", 4}), b.Constant(weight, "weight")));
  const auto trainer = StepwiseTrainer::Create(
      *b.Build(),
      Parsed("loss { cross_entropy {} reduction: SUM } optimizer { sgd { lr: 1e-4 } } precision { "
             "autocast: "
             "FLOAT16 loss_scale: 1.7014118346046923e38 growth: 2 growth_interval: 3 }"),
      Targets());
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  Batch batch = Rows(0, 4);
  Tensor x(DType::kFloat32, {4, 4});
  for (int64_t i = 0; i < 16; ++i)
    x.mutable_data<float>()[i] = static_cast<float>(100 * batch["x"].data<double>()[i]);
  batch["x"] = x;
  double scale = std::pow(2.0, 127);
  int finite = 0, skipped = 0;
  for (int step = 0; step < 24; ++step) {
    const Tensor before = (*trainer)->State("weight")->Clone();
    ASSERT_TRUE((*trainer)->Step(batch).ok());
    const StepReport& report = (*trainer)->last_step();
    ASSERT_EQ(report.loss_scale, scale) << step;
    EXPECT_EQ(SameBits(*(*trainer)->State("weight"), before), report.skipped) << step;
    finite = report.skipped ? 0 : finite + 1;
    skipped += report.skipped;
    if (report.skipped) scale /= 2;
    if (finite == 3) scale *= 2, finite = 0;
    EXPECT_EQ(report.skipped_steps, skipped);
  }
  EXPECT_GT(skipped, 5);
  EXPECT_LT(skipped, 20);
}

TEST_F(StepwiseKindsTest, NonFiniteLossesAreSkippedWhereTheConfigSaysSo) {
  Load("accumulate_classes_weighted_2");
  Batch bad = Rows(0, 4);
  bad["x"] = bad["x"].Clone();
  bad["x"].mutable_data<double>()[1] = std::nan("");
  for (const bool skips : {false, true}) {
    const auto trainer = Open(skips ? "non_finite: SKIP" : "");
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const auto loss = (*trainer)->Step(bad);
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_TRUE(std::isnan(*loss));
    EXPECT_EQ((*trainer)->last_step().skipped, skips);
    EXPECT_EQ(SameBits(*(*trainer)->State("weight"), arrays_.at("start/weight")), skips);
  }
  const auto trainer = Open("log { detect_anomaly: true }");
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_THAT((*trainer)->Step(bad).status().message(), HasSubstr("row 0 of batch 0"));
}

// Two ranks with uneven parts of each batch make the steps of one that has the whole.
TEST_F(StepwiseKindsTest, RanksMakeTheStepsOfOne) {
  Load("accumulate_classes_weighted_2");
  const Tensor& want = arrays_.at("losses");
  std::vector<std::unique_ptr<Communicator>> ends = collectives::InProcessRanks(2);
  const auto train = [&](int rank, std::unique_ptr<Communicator> end) {
    StepwiseOptions options;
    options.communicator = std::move(end);
    const auto trainer = Open("threads: 1", std::move(options));
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    int64_t step = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (int64_t begin = 0; begin < examples(); begin += 4) {
        // Rank 0 has one row; rank 1 has the other three, or two of the last batch.
        const auto loss = (*trainer)->Step(rank == 0 ? Rows(begin, 1) : Rows(begin + 1, 3));
        ASSERT_TRUE(loss.ok()) << loss.status();
        EXPECT_NEAR(*loss, want.data<double>()[step++], 1e-5);
      }
    }
    ExpectWeight(**trainer, "weight", "want/weight");
    // One rank has nothing to give: both say so, and go on.
    const auto refused = (*trainer)->Step(rank == 0 ? Batch() : Rows(0, 2));
    EXPECT_THAT(refused.status().message(),
                HasSubstr(rank == 0 ? "nothing feeds" : "rank 0 has no batch for the step"));
    EXPECT_TRUE((*trainer)->Step(Rows(0, 2)).ok());
  };
  std::thread other([&, end = std::move(ends[1])]() mutable { train(1, std::move(end)); });
  train(0, std::move(ends[0]));
  other.join();
}

TEST_F(StepwiseKindsTest, CheckpointsContinueBitForBit) {
  Load("accumulate_classes_weighted_2");
  const std::string directory = scratch_.path("checkpoints");
  const auto steps = [&](StepwiseTrainer& trainer, int begin, int end) {
    for (int i = begin; i < end; ++i) ASSERT_TRUE(trainer.Step(Rows(i % 3 * 2, 2)).ok());
  };
  const std::string more = "average { decay: 0.9 } seed: 5";
  const auto whole = Open(more), begun = Open(more), ended = Open(more), other = Open("seed: 6");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*ended)->RestoreCheckpoint(directory).code(), absl::StatusCode::kNotFound);
  steps(**whole, 0, 9);
  steps(**begun, 0, 4);
  ASSERT_TRUE((*begun)->SaveCheckpoint(directory).ok());
  steps(**begun, 4, 6);
  ASSERT_TRUE((*begun)->SaveCheckpoint(directory).ok());
  const absl::Status restored = (*ended)->RestoreCheckpoint(directory);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_EQ((*ended)->steps_done(), 6);
  steps(**ended, 6, 9);
  for (const std::string& name : (*whole)->state_names())
    EXPECT_TRUE(SameBits(*(*whole)->State(name), *(*ended)->State(name))) << name;
  EXPECT_EQ(*(*whole)->Loss(Rows(0, 7)), *(*ended)->Loss(Rows(0, 7)));
  EXPECT_THAT((*other)->RestoreCheckpoint(directory).message(), HasSubstr("seed"));
}

}  // namespace
}  // namespace onward::training
