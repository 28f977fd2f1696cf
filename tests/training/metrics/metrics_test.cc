// Metrics of evaluations; scikit-learn is the truth (make_metric_cases.py wrote cases.json).
#include "training/metrics/metrics.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/dataset.h"
#include "onward/functions.h"
#include "onward/training.h"
#include "training/metrics/class_rates.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;

LossConfig LossOf(const std::string& text) {
  LossConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

Tensor Floats(const nlohmann::json& dims, const nlohmann::json& values) {
  Tensor tensor(DType::kFloat32, Dims(dims.begin(), dims.end()));
  std::copy(values.begin(), values.end(), tensor.mutable_data<float>());
  return tensor;
}

Tensor Integers(const Tensor& floats) {
  Tensor tensor(DType::kInt64, floats.dims());
  for (int64_t i = 0; i < floats.num_elements(); ++i)
    tensor.mutable_data<int64_t>()[i] = static_cast<int64_t>(floats.data<float>()[i]);
  return tensor;
}

// Scores that the data give, plus a weight that is 0.
absl::StatusOr<Model> ScoresOf(const Tensor& scores) {
  GraphBuilder builder("scores");
  SymbolicDims dims = {SymbolDim("batch")};
  for (const int64_t dim : scores.dims().subspan(1)) dims.push_back(Dim(dim));
  const Expr weight = builder.Constant(Tensor::Of<float>({1}, {0}), "weight");
  const Expr x = builder.Input("x", Type::Tensor(DType::kFloat32, dims));
  builder.Output("y", x + weight);
  return builder.Build();
}

// `config`: of the evaluation, besides its data.
absl::StatusOr<Evaluation> EvaluationOf(const LossConfig& loss, const std::string& config,
                                        const Tensor& scores, const Tensor& target) {
  TrainConfig train;
  *train.mutable_loss() = loss;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
      absl::StrCat("optimizer { sgd { lr: 1 } } batch_size: 1 steps: 0 data {} "
                   "evaluation { data {} batch_size: 7 ",
                   config, " }"),
      &train));
  TrainerOptions options;
  options.model = *ScoresOf(scores);
  options.data = *TensorDataset({{"x", scores}, {"label", target}});
  options.evaluation_data = options.data;
  auto trainer = Trainer::Create(train, std::move(options));
  if (!trainer.ok()) return trainer.status();
  return (*trainer)->Evaluate();
}

TEST(MetricsTest, AsScikitLearn) {
  std::ifstream file(ONWARD_SOURCE_DIR "/tests/training/metrics/cases.json");
  for (const auto& each : nlohmann::json::parse(file)) {
    const LossConfig loss = LossOf(each["loss"]);
    const Tensor scores = Floats(each["scores_dims"], each["scores"]);
    const Tensor floats = Floats(each["target_dims"], each["targets"]);
    std::string config;
    for (const auto& [name, value] : each["metrics"].items())
      absl::StrAppend(&config, "also: '", name, "' ");
    const auto evaluation =
        EvaluationOf(loss, config, scores, loss.has_cross_entropy() ? Integers(floats) : floats);
    ASSERT_TRUE(evaluation.ok()) << evaluation.status() << " " << each["loss"];
    for (const auto& [name, value] : each["metrics"].items()) {
      const auto got = ValueOf(name, *evaluation);
      ASSERT_TRUE(got.has_value()) << name << " of " << each["loss"];
      EXPECT_NEAR(*got, value.get<double>(), 1e-5 * std::max(1.0, value.get<double>()))
          << name << " of " << each["loss"];
    }
  }
}

TEST(MetricsTest, PerplexityIsOfTheMeanLoss) {
  const auto evaluation =
      EvaluationOf(LossOf("cross_entropy {}"), "also: 'perplexity'",
                   Tensor::Of<float>({2, 2}, {0, 0, 0, 0}), Tensor::Of<int64_t>({2}, {0, 1}));
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->metrics.at("perplexity"), 2, 1e-6);
}

// Targets that are ignored, soft targets of bce, and classes along the last axis.
TEST(MetricsTest, WhatDoesNotCount) {
  const Tensor scores = Tensor::Of<float>({1, 4, 2}, {3, 1, 0, 1, 2, 0, 0, 5});
  const auto evaluation = EvaluationOf(LossOf("cross_entropy { class_axis: -1 }"),
                                       "also: ['top_1_accuracy', 'auc', 'recall']", scores,
                                       Tensor::Of<int64_t>({1, 4}, {0, 0, -100, 1}));
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->metrics.at("top_1_accuracy"), 2.0 / 3, 1e-12);
  EXPECT_NEAR(*evaluation->accuracy(), 2.0 / 3, 1e-12);
  EXPECT_EQ(evaluation->metrics.at("recall"), 1);
  EXPECT_EQ(evaluation->metrics.at("auc"), 1);
  const auto soft =
      EvaluationOf(LossOf("bce_with_logits {}"), "also: 'f1'",
                   Tensor::Of<float>({3, 1}, {2, -1, 3}), Tensor::Of<float>({3, 1}, {1, 0.5, 0}));
  ASSERT_TRUE(soft.ok()) << soft.status();
  EXPECT_EQ(soft->targets, 2);
  EXPECT_NEAR(soft->metrics.at("f1"), 2.0 / 3, 1e-12);
}

TEST(MetricsTest, UndefinedOnesAreLeftOut) {
  const Tensor scores = Tensor::Of<float>({2, 1}, {1, 2}), ones = Tensor::Of<float>({2, 1}, {1, 1});
  const auto auc = EvaluationOf(LossOf("bce_with_logits {}"), "also: 'auc'", scores, ones);
  ASSERT_TRUE(auc.ok()) << auc.status();
  EXPECT_EQ(auc->metrics.count("auc"), 0u);
  const auto r2 = EvaluationOf(LossOf("mse {}"), "also: ['r2', 'mae']", scores, ones);
  ASSERT_TRUE(r2.ok()) << r2.status();
  EXPECT_EQ(r2->metrics.count("r2"), 0u);
  EXPECT_EQ(r2->metrics.at("mae"), 0.5);
  const Tensor nan = Tensor::Of<float>({2, 1}, {1, std::nanf("")});
  const auto undefined = EvaluationOf(LossOf("bce_with_logits {}"), "also: 'auc'", nan,
                                      Tensor::Of<float>({2, 1}, {1, 0}));
  ASSERT_TRUE(undefined.ok()) << undefined.status();
  EXPECT_EQ(undefined->metrics.count("auc"), 0u);
  EXPECT_FALSE(RatesOf({}).f1.has_value());
}

TEST(MetricsTest, WhatDoesNotFitTheLossIsRefused) {
  const auto error = [](const char* metric, const char* loss) {
    return std::string(CheckMetric(metric, {}, LossOf(loss)).message());
  };
  EXPECT_EQ(error("f1", "nll {}"), "");
  EXPECT_EQ(error("auc", "bce {}"), "");
  EXPECT_THAT(error("f2", "nll {}"), HasSubstr("must be one of loss, accuracy, auc, f1"));
  EXPECT_THAT(error("top_K_accuracy", "nll {}"), HasSubstr("K: a number"));
  EXPECT_THAT(error("top_0_accuracy", "nll {}"), HasSubstr("K: a number"));
  EXPECT_EQ(error("top_10_accuracy", "nll {}"), "");
  EXPECT_EQ(error("f1", "mse {}"),
            "f1 needs a loss of classes (cross_entropy, multi_margin, nll), bce or "
            "bce_with_logits, not 'mse'; \"loss\" fits");
  EXPECT_THAT(error("mae", "cross_entropy {}"), HasSubstr("a loss of numbers (mse, l1"));
  EXPECT_THAT(error("perplexity", "cross_entropy {} reduction: SUM"), HasSubstr("reduction: MEAN"));
  const Tensor scores = Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto three = EvaluationOf(LossOf("cross_entropy {}"), "also: 'auc'", scores,
                                  Tensor::Of<int64_t>({2}, {0, 1}));
  EXPECT_THAT(three.status().message(), HasSubstr("auc is of two classes, the scores have 3"));
}

TEST(MetricsTest, LargerIsBetterOfSome) {
  const auto largest_is_best = [](const std::string& metric) {
    EvaluationConfig config;
    config.set_metric(metric);
    return LargestIsBest(config);
  };
  EXPECT_TRUE(largest_is_best("auc"));
  EXPECT_TRUE(largest_is_best("top_5_accuracy"));
  EXPECT_FALSE(largest_is_best("loss"));
  EXPECT_FALSE(largest_is_best("rmse"));
  EXPECT_EQ(MetricText("top_5_accuracy", 0.5), "top_5_accuracy 50.00 %");
  EXPECT_EQ(MetricText("f1", 0.5), "f1 0.5000");
}

// `metric` chooses the best step: the weight grows from step to step, and so does the error.
TEST(MetricsTest, ChoosesTheBest) {
  TrainConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "loss { mse {} } optimizer { sgd { lr: 0.5 } } batch_size: 2 steps: 3 data {}"
      "evaluation { data {} metric: 'mae' every_steps: 1 }",
      &config));
  TrainerOptions options;
  const Tensor x = Tensor::Of<float>({2, 1}, {0, 0});
  options.model = *ScoresOf(x);
  options.data = *TensorDataset({{"x", x}, {"label", Tensor::Of<float>({2, 1}, {8, 8})}});
  options.evaluation_data =
      *TensorDataset({{"x", x}, {"label", Tensor::Of<float>({2, 1}, {-1, -1})}});
  std::vector<double> errors;
  options.on_evaluation = [&](const EvaluationReport& report) {
    errors.push_back(report.evaluation.metrics.at("mae"));
  };
  const auto trainer = Trainer::Create(config, std::move(options));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_TRUE((*trainer)->Run().ok());
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ((*trainer)->best()->step, 1);
  EXPECT_EQ((*trainer)->best()->metric, errors[0]);
}

}  // namespace
}  // namespace onward::training
