// LBFGS in a config: PyTorch's trajectory (optimizers/make_lbfgs_cases.py), checkpoints, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "files/safetensors.h"
#include "google/protobuf/text_format.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/functions.h"
#include "onward/training.h"
#include "tests/support/scratch_directory.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using Arrays = std::map<std::string, Tensor>;

constexpr char kWolfe[] = "max_iter: 4 line_search_fn: STRONG_WOLFE";

class LbfgsTrainerTest : public ::testing::Test {
 protected:
  // A case's MLP as a file, and its data; `prefix` is put before the names of its parameters.
  void Write(const std::string& name, const std::string& prefix = "") {
    auto arrays =
        files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/optimizers/cases/lbfgs_" + name + ".npz");
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    arrays_ = Arrays(arrays->begin(), arrays->end());
    GraphBuilder b("mlp");
    const auto parameter = [&](const char* each) {
      return b.Constant(arrays_.at(absl::StrCat("start/", each)), prefix + each);
    };
    const Expr data = b.Input("data", DType::kFloat64, {"batch", 3});
    const Expr w1 = parameter("w1"), b1 = parameter("b1");
    const Expr w2 = parameter("w2"), b2 = parameter("b2");
    b.Output("y", MatMul(Tanh(MatMul(data, w1) + b1), w2) + b2);
    ASSERT_TRUE(ExportFile(*b.Build(), scratch_.path("mlp.onnx")).ok());
    files::Safetensors file;
    file.tensors = {{"data", arrays_.at("data")}, {"target", arrays_.at("target")}};
    ASSERT_TRUE(files::WriteSafetensors(file, scratch_.path("data.safetensors")).ok());
  }

  static TrainConfig Config(const std::string& options, const std::string& more = "steps: 10") {
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model: \"mlp.onnx\" loss { mse {} target: \"target\" } "
                     "optimizer { lbfgs { ",
                     options, " } } data { safetensors { path: \"data.safetensors\" } } ",
                     more.find("batch_size") == more.npos ? "batch_size: 16 " : "", more),
        &config));
    return config;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> Train(const TrainConfig& config,
                                                 TrainerOptions options = {}) {
    return testing::RunTrainer(config, scratch_.path(), std::move(options));
  }

  void ExpectTrajectory(const std::string& name, const std::string& options,
                        const std::string& more) {
    SCOPED_TRACE(absl::StrCat(name, " ", more));
    Write(name);
    std::unique_ptr<Trainer> trainer;
    TrainerOptions trainer_options;
    trainer_options.directory = scratch_.path();
    trainer_options.on_step = [&](const StepReport& report) {
      const int64_t step = report.step - 1;
      EXPECT_NEAR(report.loss, arrays_.at("loss").data<double>()[step], 1e-6) << step;
      for (const std::string& each : trainer->parameters()) {
        const Tensor value = *trainer->State(each);
        const double* after =
            arrays_.at("after/" + each).data<double>() + step * value.num_elements();
        for (int64_t i = 0; i < value.num_elements(); ++i)
          ASSERT_NEAR(value.data<double>()[i], after[i], 1e-5 * std::max(1.0, std::fabs(after[i])))
              << each << ", element " << i << ", step " << step;
      }
    };
    auto made = Trainer::Create(Config(options, more), trainer_options);
    ASSERT_TRUE(made.ok()) << made.status();
    trainer = *std::move(made);
    const absl::Status run = trainer->Run();
    ASSERT_TRUE(run.ok()) << run;
  }

  testing::ScratchDirectory scratch_;
  Arrays arrays_;
};

TEST_F(LbfgsTrainerTest, TrajectoriesArePyTorchs) {
  ExpectTrajectory("mlp", "lr: 0.1 max_iter: 4", "steps: 10");
  ExpectTrajectory("mlp_wolfe", kWolfe, "steps: 10");
  // The mean over four batches is the mean over all.
  ExpectTrajectory("mlp_wolfe", kWolfe, "steps: 10 batch_size: 4 accumulate: 4");
  ExpectTrajectory("mlp_wolfe", kWolfe, "steps: 10 clip { global_norm: 1e9 }");
}

TEST_F(LbfgsTrainerTest, GoesOnBitForBitAndExports) {
  Write("mlp_wolfe");
  const std::string more =
      "steps: 9 batch_size: 8 checkpoint { every_steps: 2 } "
      "schedule { exponential { gamma: 0.9 } } "
      "evaluation { data { safetensors { path: \"data.safetensors\" } } }";
  const auto whole = Train(Config(kWolfe, more));
  ASSERT_TRUE(whole.ok()) << whole.status();
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("checkpoints");
  options.resume = true;
  int64_t steps = 0;
  options.stop = [&] { return ++steps == 5; };
  auto begun = Train(Config(kWolfe, more), options);
  ASSERT_TRUE(begun.ok()) << begun.status();
  ASSERT_EQ((*begun)->steps_done(), 5);
  begun->reset();
  options.stop = nullptr;
  const auto ended = Train(Config(kWolfe, more), options);
  ASSERT_TRUE(ended.ok()) << ended.status();
  for (const std::string& name : (*whole)->parameters()) {
    EXPECT_TRUE(SameBits(*(*whole)->State(name), *(*ended)->State(name))) << name;
  }
  ASSERT_TRUE((*ended)->Export(scratch_.path("trained.onnx")).ok());
  TrainConfig again = Config(kWolfe,
                             "steps: 0 evaluation { data { safetensors { path: "
                             "\"data.safetensors\" } } }");
  again.set_model("trained.onnx");
  const auto loaded = Train(again);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->Evaluate()->loss, (*ended)->Evaluate()->loss);
}

// Its own state has such names in checkpoints; that of other optimizers does not.
TEST_F(LbfgsTrainerTest, WeightsNamedLikeItsState) {
  Write("mlp", "lbfgs/");
  EXPECT_THAT(std::string(Train(Config("", "steps: 1")).status().message()),
              HasSubstr("the model's initializer 'lbfgs/w1' has the name of state of LBFGS in "
                        "checkpoints; rename it in the model"));
  TrainConfig other = Config("", "steps: 4");
  other.mutable_optimizer()->mutable_adam()->set_lr(0.1);
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("checkpoints");
  auto trained = Train(other, options);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const Tensor weight = (*trained)->State("lbfgs/w1")->Clone();
  trained->reset();  // and with it the directory
  options.resume = true;
  const auto resumed = Train(other, options);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(SameBits(*(*resumed)->State("lbfgs/w1"), weight));
}

TEST_F(LbfgsTrainerTest, Refusals) {
  Write("mlp");
  const auto error = [&](const std::string& options, const std::string& more) {
    return std::string(Train(Config(options, more)).status().message());
  };
  EXPECT_THAT(error("max_iter: 0", "steps: 1"),
              HasSubstr("optimizer.lbfgs.max_iter must be at least 1, got 0"));
  TrainConfig grouped = Config("", "steps: 1");
  grouped.mutable_optimizer()->add_group()->add_parameters("w1");
  EXPECT_THAT(
      std::string(Train(grouped).status().message()),
      HasSubstr(
          "optimizer.group must be left out with LBFGS, which has one group of all parameters"));
  EXPECT_THAT(error("", "steps: 1 average { decay: 0.9 }"), HasSubstr("no averages of weights"));
  EXPECT_THAT(error("", "steps: 1 precision { autocast: FLOAT16 }"), HasSubstr("no scaled loss"));
  // A rate that leaps out of the numbers.
  const std::string far = "lr: 1e300";
  EXPECT_THAT(error(far, "steps: 5"), HasSubstr("the loss of step "));
  int64_t skipped = 0;
  TrainerOptions options;
  options.on_step = [&](const StepReport& report) { skipped += report.skipped; };
  const auto trainer = Train(Config(far, "steps: 5 non_finite: SKIP"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_GT(skipped, 0);
  const auto step = (*trainer)->ExportStep(scratch_.path("step.onnx"));
  EXPECT_THAT(std::string(step.message()), HasSubstr("one step of LBFGS"));
}

}  // namespace
}  // namespace onward::training
