// Several losses in one config: the sum of all, by formulas of their gradients.
#include <cmath>

#include "files/safetensors.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;

constexpr int kRows = 5, kFeatures = 2;
constexpr double kX[kRows][kFeatures] = {{1, 2}, {-1, 0.5}, {0.25, -2}, {3, 1}, {-0.5, -1}};
constexpr double kPlace[kRows] = {0.5, -1, 2, 0.25, 1}, kSize[kRows] = {1, 0.5, -1, 4, -2};
constexpr double kV[kFeatures] = {0.5, -0.25}, kW[kFeatures] = {-1, 0.75};

// Two heads without a trunk: place = x v, size = x w, and the model's own mean of w's squares.
class AuxiliaryLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder b("heads");
    const Expr x = b.Input("x", DType::kFloat64, {"batch", kFeatures});
    const Expr w = b.Constant(Column(kW, kFeatures), "w");
    b.Output("place", MatMul(x, b.Constant(Column(kV, kFeatures), "v")));
    b.Output("size", MatMul(x, w));
    b.Output("decay", ReduceMean(w * w, {}, false));
    ASSERT_TRUE(ExportFile(*b.Build(), scratch_.path("model.onnx")).ok());
    files::Safetensors data;
    Tensor rows(DType::kFloat64, {kRows, kFeatures});
    for (int i = 0; i < kRows * kFeatures; ++i)
      rows.mutable_data<double>()[i] = kX[i / kFeatures][i % kFeatures];
    data.tensors["x"] = rows;
    data.tensors["wanted_place"] = Column(kPlace, kRows);
    data.tensors["size"] = Column(kSize, kRows);  // called like the output
    ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
  }

  static Tensor Column(const double* numbers, int count) {
    Tensor tensor(DType::kFloat64, {count, 1});
    std::copy(numbers, numbers + count, tensor.mutable_data<double>());
    return tensor;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> Train(const std::string& more,
                                                 TrainerOptions options = {}) {
    TrainConfig config;
    const std::string data =
        "{ safetensors { path: 'data.safetensors' } shuffle: false drop_last: false } ";
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model: 'model.onnx' optimizer { sgd { lr: 0.5 } } data ", data,
                     "evaluation { data ", data, evaluation_, "} ", more),
        &config))
        << more;
    return testing::RunTrainer(config, scratch_.path(), std::move(options));
  }
  std::string Error(const std::string& more) {
    const auto trainer = Train(more);
    return trainer.ok() ? "OK" : std::string(trainer.status().message());
  }

  std::string evaluation_;  // more of its config
  testing::ScratchDirectory scratch_;
};

constexpr char kPlaceLoss[] = "loss { mse {} output: 'place' target: 'wanted_place' } ";
constexpr char kSizeLoss[] = "auxiliary_loss { l1 {} output: 'size' target: 'size' factor: 0.25 } ";
constexpr char kDecayLoss[] = "auxiliary_loss { from_model {} output: 'decay' factor: 0.125 } ";

struct Expected {
  double loss = 0, losses[3] = {}, v[kFeatures] = {}, w[kFeatures] = {};
};

// One step at a rate of 0.5 on the mean over all rows.
Expected OneStep() {
  Expected made;
  double dv[kFeatures] = {}, dw[kFeatures] = {};
  for (int i = 0; i < kRows; ++i) {
    const double place = kX[i][0] * kV[0] + kX[i][1] * kV[1] - kPlace[i];
    const double size = kX[i][0] * kW[0] + kX[i][1] * kW[1] - kSize[i];
    made.losses[0] += place * place / kRows;
    made.losses[1] += 0.25 * std::abs(size) / kRows;
    for (int j = 0; j < kFeatures; ++j) {
      dv[j] += 2 * place * kX[i][j] / kRows;
      dw[j] += 0.25 * (size > 0 ? 1 : -1) * kX[i][j] / kRows;
    }
  }
  made.losses[2] = 0.125 * (kW[0] * kW[0] + kW[1] * kW[1]) / kFeatures;
  for (const double each : made.losses) made.loss += each;
  for (int j = 0; j < kFeatures; ++j) {
    made.v[j] = kV[j] - 0.5 * dv[j];
    made.w[j] = kW[j] - 0.5 * (dw[j] + 0.125 * 2 * kW[j] / kFeatures);
  }
  return made;
}

TEST_F(AuxiliaryLossTest, TheSumOfAllIsMinimised) {
  const Expected expected = OneStep();
  for (const char* batches : {"epochs: 1 batch_size: 5", "epochs: 1 batch_size: 2 accumulate: 3"}) {
    SCOPED_TRACE(batches);
    std::vector<StepReport> reports;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { reports.push_back(report); };
    const auto trainer = Train(absl::StrCat(kPlaceLoss, kSizeLoss, kDecayLoss, batches), options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_NEAR(reports[0].loss, expected.loss, 1e-6);
    ASSERT_EQ(reports[0].losses.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(reports[0].losses[i], expected.losses[i], 1e-6) << i;
    const Tensor v = *(*trainer)->State("v"), w = *(*trainer)->State("w");
    for (int j = 0; j < kFeatures; ++j) {
      EXPECT_NEAR(v.data<double>()[j], expected.v[j], 1e-6) << j;
      EXPECT_NEAR(w.data<double>()[j], expected.w[j], 1e-6) << j;
    }
  }
}

TEST_F(AuxiliaryLossTest, EvaluationsAreOfTheSum) {
  for (const int batch : {1, 2, 5}) {
    const auto untrained =
        Train(absl::StrCat(kPlaceLoss, kSizeLoss, kDecayLoss, "epochs: 0 batch_size: ", batch));
    ASSERT_TRUE(untrained.ok()) << untrained.status();
    const auto evaluation = (*untrained)->Evaluate();
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_NEAR(evaluation->loss, OneStep().loss, 1e-6) << batch;
    ASSERT_EQ(evaluation->losses.size(), 3u);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(evaluation->losses[i], OneStep().losses[i], 1e-6) << batch;
  }
}

// A loss alone is so many times as large with a factor.
TEST_F(AuxiliaryLossTest, AFactorMultiplies) {
  double losses[2] = {};
  for (int i = 0; i < 2; ++i) {
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { losses[i] = report.loss; };
    const auto trainer =
        Train(absl::StrCat("loss { mse {} output: 'place' target: 'wanted_place' ",
                           i == 0 ? "" : "factor: 3", " } epochs: 1 batch_size: 5"),
              options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
  }
  EXPECT_NEAR(losses[1], 3 * losses[0], 1e-5);
}

TEST_F(AuxiliaryLossTest, WhatDoesNotGoTogetherIsRefused) {
  const std::string loss = absl::StrCat(kPlaceLoss, "epochs: 1 ");
  EXPECT_THAT(Error(loss + "auxiliary_loss { output: 'size' }"),
              HasSubstr("auxiliary_loss[0] must name a kind, one of"));
  EXPECT_THAT(Error(loss + "auxiliary_loss { mse {} target: 'size' }"),
              HasSubstr("auxiliary_loss[0].output must say which of the model's outputs is scored: "
                        "place, size, decay"));
  EXPECT_THAT(Error(loss + kDecayLoss + "auxiliary_loss { mse {} output: 'sizes' }"),
              HasSubstr("auxiliary_loss[1].output: the model has no output 'sizes'"));
  EXPECT_THAT(Error(loss + "auxiliary_loss { mse {} output: 'size' }"),
              HasSubstr("auxiliary_loss[0].target: the data has no field 'label'"));
  EXPECT_THAT(Error(loss + "auxiliary_loss { from_model {} output: 'size' }"),
              HasSubstr("the loss 'size' is float64[batch,1], not a scalar"));
  EXPECT_THAT(Error(loss + "auxiliary_loss { from_model {} output: 'decay' reduction: SUM }"),
              HasSubstr("auxiliary_loss[0].reduction differs from that of `loss`"));
  EXPECT_THAT(Error(loss + "auxiliary_loss { from_model {} output: 'decay' factor: nan }"),
              HasSubstr("auxiliary_loss[0].factor must be finite, got nan"));
  evaluation_ = "metric: 'perplexity'";
  const std::string classes = "epochs: 1 loss { cross_entropy {} output: 'place' ";
  EXPECT_THAT(Error(classes + "factor: 2 }"),
              HasSubstr("evaluation.metric perplexity is of one loss"));
  EXPECT_THAT(Error(classes + "} " + kDecayLoss),
              HasSubstr("evaluation.metric perplexity is of one loss"));
}

TEST_F(AuxiliaryLossTest, PartsOfAStepAreSaid) {
  std::vector<std::string> warnings;
  TrainerOptions options;
  options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  const auto trainer =
      Train(absl::StrCat(kPlaceLoss, kSizeLoss, "epochs: 1 batch_size: 2 accumulate: 3"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], HasSubstr("auxiliary_loss: each of the 3 parts of a step counts by the "
                                     "targets of `loss`"));
}

}  // namespace
}  // namespace onward::training
