// Small trainings: images of noise with a bright third, by class, and an MLP.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/functions.h"
#include "onward/training.h"
#include "tests/support/idx.h"
#include "tests/support/scratch_directory.h"

namespace onward::testing {

inline constexpr int kExamples = 96, kSide = 6, kClasses = 3;

inline Tensor Normal(DimsView dims, double deviation, unsigned seed) {
  Tensor tensor(DType::kFloat32, dims);
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, static_cast<float>(deviation));
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = draw(random);
  return tensor;
}

// A trainer that has run; its files are in `directory`.
inline absl::StatusOr<std::unique_ptr<Trainer>> RunTrainer(const TrainConfig& config,
                                                           const std::string& directory,
                                                           TrainerOptions options) {
  options.directory = directory;
  auto trainer = Trainer::Create(config, std::move(options));
  if (!trainer.ok()) return trainer.status();
  if (const absl::Status run = (*trainer)->Run(); !run.ok()) return run;
  return trainer;
}

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
    using namespace expr;  // NOLINT
    GraphBuilder builder("mlp");
    const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
    const Expr hidden =
        Relu(Gemm(Op("Flatten", {image}), builder.Constant(Normal({36, 8}, 0.2, 1), "fc1.weight"),
                  builder.Constant(Normal({8}, 0.1, 2), "fc1.bias")));
    builder.Output("logits", Gemm(hidden, builder.Constant(Normal({8, 3}, 0.3, 3), "fc2.weight"),
                                  builder.Constant(Normal({3}, 0.1, 4), "fc2.bias")));
    return builder.Build();
  }

  // A BatchNormalization, whose statistics are "mean" and "variance", perhaps a Dropout, and a
  // layer, in place of the MLP.
  void WriteNormalized(bool dropout) {
    using namespace expr;  // NOLINT
    GraphBuilder builder("normalized");
    const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
    const auto constant = [&](float value, const char* name) {
      return builder.Constant(Tensor::Of<float>({1}, {value}), name);
    };
    const Expr normal = Op("BatchNormalization", {image, constant(1, "scale"), constant(0, "shift"),
                                                  constant(0, "mean"), constant(1, "variance")});
    const Expr flat = Op("Flatten", {normal});
    builder.Output("logits", Gemm(dropout ? Op("Dropout", {flat}) : flat,
                                  builder.Constant(Normal({36, 3}, 0.2, 1), "fc.weight")));
    ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path("mlp.onnx")).ok());
  }

  // Gives the evaluation other labels than the training has, so that its loss soon rises.
  void EvaluateOnOtherLabels(TrainConfig& config) {
    std::string others;
    for (int i = 0; i < kExamples; ++i) others += static_cast<char>((i + 1) % kClasses);
    scratch_.Write("others", Idx({kExamples}, others));
    config.mutable_evaluation()->mutable_data()->mutable_mnist()->set_labels("others");
  }

  static void ExpectSameState(Trainer& got, Trainer& want) {
    for (const std::string& name : want.state_names()) {
      const Tensor a = *got.State(name), b = *want.State(name);
      EXPECT_EQ(std::memcmp(a.raw_data(), b.raw_data(), b.byte_size()), 0) << name;
    }
  }

  static TrainConfig Config(const std::string& more = "") {
    TrainConfig config;
    const std::string data = "mnist { images: \"images\" labels: \"labels\" mean: 0.3 }";
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat(R"(model: "mlp.onnx" loss { cross_entropy {} } batch_size: 16
                        optimizer { sgd { lr: 0.1 } })",
                     "data {", data, "} evaluation { data {", data, "} } ", more),
        &config));
    return config;
  }

  absl::StatusOr<std::unique_ptr<Trainer>> Train(const TrainConfig& config,
                                                 TrainerOptions options = {}) {
    return RunTrainer(config, scratch_.path(), std::move(options));
  }
  std::string Error(const TrainConfig& config) {
    const auto trainer = Train(config);
    return trainer.ok() ? "OK" : std::string(trainer.status().message());
  }
  static std::vector<float> Weights(Trainer& trainer, const std::string& name) {
    const Tensor tensor = *trainer.State(name);
    return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
  }

  ScratchDirectory scratch_;
};

}  // namespace onward::testing
