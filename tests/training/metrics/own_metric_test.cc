// Metrics that a program gives (TrainerOptions::metrics).
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/functions.h"
#include "onward/training.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

constexpr int kExamples = 11;

// The mean absolute error, by its definition.
class AbsoluteError : public Metric {
 public:
  absl::Status Add(const Tensor& scores, const Tensor& target) override {
    for (int64_t i = 0; i < scores.num_elements(); ++i)
      sum_ += std::abs(scores.data<float>()[i] - target.data<float>()[i]);
    count_ += scores.num_elements();
    return absl::OkStatus();
  }
  std::optional<double> Value() const override { return sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

class Fixed : public Metric {
 public:
  explicit Fixed(std::optional<double> value, absl::Status status = absl::OkStatus())
      : value_(value), status_(std::move(status)) {}
  absl::Status Add(const Tensor&, const Tensor&) override { return status_; }
  std::optional<double> Value() const override { return value_; }

 private:
  std::optional<double> value_;
  absl::Status status_;
};

TrainConfig ConfigOf(const std::string& evaluation, const std::string& loss = "mse {}") {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("loss { ", loss, " } optimizer { sgd { lr: 0.01 } } batch_size: 4 epochs: 4 ",
                   "data {} evaluation { data {} batch_size: 4 ", evaluation, " }"),
      &config));
  return config;
}

// y = x * weight, to be 3 x.
TrainerOptions Options() {
  GraphBuilder builder("line");
  const Expr weight = builder.Constant(Tensor::Of<float>({1}, {0.5f}), "weight");
  const Expr x = builder.Input("x", Type::Tensor(DType::kFloat32, {SymbolDim("batch"), Dim(1)}));
  builder.Output("y", x * weight);
  Tensor inputs(DType::kFloat32, {kExamples, 1}), targets(DType::kFloat32, {kExamples, 1});
  for (int i = 0; i < kExamples; ++i) {
    inputs.mutable_data<float>()[i] = static_cast<float>(i) / 4;
    targets.mutable_data<float>()[i] = 3 * inputs.data<float>()[i];
  }
  TrainerOptions options;
  options.model = *builder.Build();
  options.data = *TensorDataset({{"x", inputs}, {"label", targets}});
  options.evaluation_data = options.data;
  return options;
}

TEST(OwnMetricTest, SeesEveryExampleOnce) {
  TrainerOptions options = Options();
  options.metrics["error"] = [] { return std::make_unique<AbsoluteError>(); };
  const auto trainer = Trainer::Create(ConfigOf("also: 'mae' own { name: 'error' }"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  for (int i = 0; i < 2; ++i) {
    const auto evaluation = (*trainer)->Evaluate();
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_NEAR(evaluation->metrics.at("error"), 2.5 * (0 + 10) / 2 / 4, 1e-6);
    EXPECT_NEAR(evaluation->metrics.at("error"), evaluation->metrics.at("mae"), 1e-6);
  }
}

TEST(OwnMetricTest, ChoosesTheBestEvaluation) {
  for (const bool largest : {false, true}) {
    TrainerOptions options = Options();
    int made = 0;
    options.metrics["scripted"] = [&made] {
      constexpr double kValues[] = {3, 1, 4, 2};
      return std::make_unique<Fixed>(kValues[made++]);
    };
    const auto trainer = Trainer::Create(
        ConfigOf(absl::StrCat(
            "metric: 'scripted' own { name: 'scripted' largest_is_best: ", largest, " }")),
        options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    ASSERT_TRUE((*trainer)->Run().ok());
    const auto best = (*trainer)->best();
    ASSERT_TRUE(best.has_value());
    const int64_t epoch = (*trainer)->steps_per_epoch();
    EXPECT_EQ(best->step, (largest ? 3 : 2) * epoch);
    EXPECT_EQ(best->metric, largest ? 4 : 1);
    EXPECT_EQ((*trainer)->exported_step(), best->step);
  }
}

TEST(OwnMetricTest, UndefinedOnesAreLeftOut) {
  TrainerOptions options = Options();
  options.metrics["none"] = [] { return std::make_unique<Fixed>(std::nullopt); };
  auto trainer = Trainer::Create(ConfigOf("own { name: 'none' }"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto evaluation = (*trainer)->Evaluate();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->metrics.count("none"), 0u);
  trainer = Trainer::Create(ConfigOf("metric: 'none' own { name: 'none' }"), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_THAT((*trainer)->Run().message(), HasSubstr("none is undefined for these targets"));
}

TEST(OwnMetricTest, WhatIsWrongIsSaid) {
  const auto error = [](const std::string& evaluation, const std::string& given,
                        const MetricFactory& factory, const std::string& loss = "mse {}") {
    TrainerOptions options = Options();
    if (!given.empty()) options.metrics[given] = factory;
    const auto trainer = Trainer::Create(ConfigOf(evaluation, loss), options);
    return std::string(trainer.ok() ? (*trainer)->Evaluate().status().message()
                                    : trainer.status().message());
  };
  const MetricFactory fixed = [] { return std::make_unique<Fixed>(1); };
  EXPECT_THAT(error("own { name: 'dice' }", "", nullptr),
              HasSubstr("evaluation.own declares 'dice', which the program does not give"));
  EXPECT_THAT(error("own { name: 'dice' }", "dice", nullptr),
              HasSubstr("evaluation.own declares 'dice', which the program does not give"));
  EXPECT_THAT(error("", "dice", fixed),
              HasSubstr("'dice', which the config does not declare: evaluation { own { name: "
                        "\"dice\" } }"));
  EXPECT_THAT(error("metric: 'dice'", "", nullptr), HasSubstr("or declared by evaluation.own"));
  EXPECT_THAT(error("own { name: 'top_3_accuracy' }", "top_3_accuracy", fixed),
              HasSubstr("own[0] 'top_3_accuracy' is a metric that needs no declaration"));
  EXPECT_THAT(error("own { name: '' }", "", fixed), HasSubstr("'' is not a name"));
  EXPECT_THAT(error("own { name: 'a' } own { name: 'a' }", "a", fixed),
              HasSubstr("own[1] 'a' is declared twice"));
  EXPECT_THAT(error("own { name: 'a' }", "a", fixed, "from_model {}"),
              HasSubstr("'a' looks at scores and a target"));
  EXPECT_THAT(error("own { name: 'a' }", "a", [] { return nullptr; }),
              HasSubstr("'a' returned null"));
  EXPECT_THAT(
      error("own { name: 'a' }", "a",
            [] { return std::make_unique<Fixed>(1, absl::InvalidArgumentError("four wheels")); }),
      HasSubstr("evaluation: a: four wheels"));
}

}  // namespace
}  // namespace onward
