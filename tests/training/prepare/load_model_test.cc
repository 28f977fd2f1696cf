// The model of a configuration, and the weights that it starts with.
#include "training/prepare/load_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "files/safetensors.h"
#include "google/protobuf/text_format.h"
#include "onward/models.h"
#include "tests/support/scratch_directory.h"
#include "training/prepare/state_dict.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto model =
        BuildModel("mlp", {{"features", 4}, {"hidden", 3}, {"layers", 1}, {"classes", 2}}, 5);
    ASSERT_TRUE(model.ok()) << model.status();
    file_.tensors = StateDictOf(*model);
  }

  absl::StatusOr<TrainableModel> Load(const std::string& weights) {
    EXPECT_TRUE(files::WriteSafetensors(file_, directory_.path("weights.safetensors")).ok());
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(absl::StrCat(R"(built { name: "mlp"
                                options { key: "features" value: 4 }
                                options { key: "hidden" value: 3 }
                                options { key: "layers" value: 1 }
                                options { key: "classes" value: 2 } }
                        loss { cross_entropy {} } optimizer { sgd {} } data {}
                        weights { path: "weights.safetensors" )",
                                                                           weights, "}"),
                                                              &config));
    return LoadModel(config, directory_.path(),
                     [&](const LogRecord& record) { warnings_.push_back(record.message); });
  }

  testing::ScratchDirectory directory_;
  files::Safetensors file_;
  std::vector<std::string> warnings_;
};

TEST_F(LoadModelTest, StartsWithTheWeights) {
  const auto loaded = Load("");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const auto& [name, value] : StateDictOf(loaded->model))
    EXPECT_TRUE(SameBits(value, file_.tensors.at(name))) << name;
  EXPECT_THAT(loaded->initializers,
              ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(LoadModelTest, NamesAndTransposesOfOthers) {
  const StateDict own = file_.tensors;
  file_.tensors.clear();
  for (const auto& [name, value] : own) file_.tensors["net." + name] = value;
  file_.tensors["net.epoch"] = Tensor::Scalar(3.0f);
  Tensor& weight = file_.tensors["net.fc2.weight"];  // [2, 3]
  Tensor turned(DType::kFloat32, {3, 2});
  for (int64_t i = 0; i < 6; ++i)
    turned.mutable_data<float>()[i] = weight.data<float>()[i % 2 * 3 + i / 2];
  weight = turned;
  const auto loaded = Load(
      R"(rename { pattern: "^net\\." replacement: "" } ignored: "epoch" transposed: "fc2.w*")");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const auto& [name, value] : StateDictOf(loaded->model))
    EXPECT_TRUE(SameBits(value, own.at(name))) << name;
}

TEST_F(LoadModelTest, WhatDoesNotFit) {
  file_.tensors.erase("fc1.bias");
  EXPECT_THAT(
      std::string(Load("").status().message()),
      HasSubstr("weights.safetensors: the values do not fit the model; 1 missing: fc1.bias"));
  ASSERT_TRUE(Load("partial: true").ok());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("3 loaded; 1 missing: fc1.bias"));
}

class HeadTest : public ::testing::Test {
 protected:
  static absl::StatusOr<TrainableModel> Load(const std::string& head) {
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model: 'mnist/mnist-8.onnx' loss { cross_entropy {} } "
                     "optimizer { sgd {} } data {} head {",
                     head, "}"),
        &config));
    return LoadModel(config, ONWARD_SOURCE_DIR "/examples");
  }
  static std::string Error(const std::string& head) {
    return std::string(Load(head).status().message());
  }
};

TEST_F(HeadTest, TakesThePlaceOfTheOutputs) {
  const auto loaded = Load("of: 'Pooling160_Output_0_reshape0' outputs: 3 name: 'classes'");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Graph& graph = loaded->model.graph;
  ASSERT_EQ(graph.outputs().size(), 1u);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "classes");
  EXPECT_EQ(graph.type(graph.outputs()[0]).ToString(), "float32[1,3]");
  EXPECT_THAT(loaded->initializers,
              ::testing::IsSupersetOf({"Parameter5", "classes.weight", "classes.bias"}));
  // What the old head was made of.
  EXPECT_THAT(loaded->initializers, ::testing::Not(::testing::Contains("Parameter194")));
}

TEST_F(HeadTest, Refusals) {
  EXPECT_THAT(Error("of: 'Pooling160_Output_0_reshape' outputs: 3"),
              HasSubstr("head: the model has no value 'Pooling160_Output_0_reshape'; did you mean "
                        "'Pooling160_Output_0_reshape0'?"));
  EXPECT_THAT(Error("of: 'Pooling160_Output_0_reshape0' outputs: 0"),
              HasSubstr("at least one output, got 0"));
  EXPECT_THAT(Error("of: 'Pooling160_Output_0_reshape0' outputs: 2 dropout: 1"),
              HasSubstr("dropout must be in [0, 1), got 1"));
  EXPECT_THAT(Error("of: 'Pooling160_Output_0_reshape0' outputs: 2 name: 'Input3'"),
              HasSubstr("the model has a value 'Input3' already"));
}

}  // namespace
}  // namespace onward::training
