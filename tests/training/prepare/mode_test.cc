// Dropout and BatchNormalization in training and back, on models as exporters write them.
#include "training/prepare/mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "onward/session.h"
#include "tests/support/text_model.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Tensor Floats(DimsView dims, std::initializer_list<float> values) {
  return Tensor::Of<float>(dims, values);
}

std::vector<float> Values(const Tensor& tensor) {
  return {tensor.span<float>().begin(), tensor.span<float>().end()};
}

Model Parse(const std::string& text) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

ModeChange Train(Model& model, const TrainingModeOptions& options = {}) {
  const auto change = SetTrainingMode(model, options);
  EXPECT_TRUE(change.ok()) << change.status();
  EXPECT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
  return change.value_or(ModeChange());
}

Session::Outputs Evaluate(const Model& model, const Session::Inputs& inputs) {
  auto session = Session::Create(model);
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = (*session)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *std::move(outputs);
}

const std::string kNormalized =
    "g (float[N,2] x) => (float[N,2] y) <float[2] scale = {1, 2}, float[2] bias = {0, 1}, "
    "float[2] mean = {0.5, 1}, float[2] var = {4, 9}> "
    "{ y = BatchNormalization <momentum = 0.75> (x, scale, bias, mean, var) }";

// Two channels of three elements: means 2 and 1, sums of squared differences 8 and 18.
const Session::Inputs kBatch = {{"x", Floats({3, 2}, {0, -2, 2, 1, 4, 4})}};

TEST(TrainingMode, RunningStatisticsAreState) {
  Model model = Parse(kNormalized);
  EXPECT_EQ(Train(model).batch_normalizations, 1);
  auto session = TrainingSession::Create(model);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT((*session)->state_names(), ::testing::UnorderedElementsAre("mean", "var"));
  const auto outputs = (*session)->Step(kBatch);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const float a = 2 / std::sqrt(8 / 3.0f + 1e-5f), b = 6 / std::sqrt(6 + 1e-5f);
  EXPECT_THAT(Values(outputs->at("y").tensor()),
              Pointwise(FloatNear(1e-5f), {-a, 1 - b, 0.0f, 1.0f, a, 1 + b}));
  // Divided by n - 1: 4 and 9.
  EXPECT_THAT(Values(*(*session)->State("mean")), Pointwise(FloatNear(1e-6f), {0.875f, 1.0f}));
  EXPECT_THAT(Values(*(*session)->State("var")), Pointwise(FloatNear(1e-5f), {4.0f, 9.0f}));
}

TEST(TrainingMode, TheStandardsVarianceOnRequest) {
  Model model = Parse(kNormalized);
  TrainingModeOptions options;
  options.unbiased_variance = false;
  Train(model, options);
  const Session::Outputs outputs = Evaluate(model, kBatch);
  EXPECT_THAT(Values(outputs.at("next/var").tensor()),
              Pointwise(FloatNear(1e-5f), {3 + 8 / 12.0f, 6.75f + 1.5f}));
}

TEST(TrainingMode, GoesBackWithTheNewStatistics) {
  Model model = Parse(kNormalized);
  const Session::Outputs before = Evaluate(model, kBatch);
  Train(model);
  EXPECT_EQ(Train(model).batch_normalizations, 0);  // it trains already
  Model again = model;
  auto change = SetInferenceMode(again);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->batch_normalizations, 1);
  EXPECT_TRUE(Verify(again.graph).ok());
  EXPECT_TRUE(again.updates.empty());
  EXPECT_EQ(again.graph.inputs().size(), 1u);
  EXPECT_EQ(again.graph.outputs().size(), 1u);
  EXPECT_EQ(testing::Nodes(again.graph), "y = BatchNormalization(x, scale, bias, mean, var)\n");
  EXPECT_EQ(Values(Evaluate(again, kBatch).at("y").tensor()), Values(before.at("y").tensor()));

  const ValueId mean = model.graph.FindValue("mean");
  GraphEdit(model.graph).constant(mean) = Floats({2}, {1.5, 0});
  ASSERT_TRUE(SetInferenceMode(model).ok());
  const std::vector<float> y = Values(Evaluate(model, kBatch).at("y").tensor());
  EXPECT_NEAR(y[0], -1.5 / std::sqrt(4 + 1e-5), 1e-6);
  EXPECT_NEAR(y[5], 1 + 2 * 4 / std::sqrt(9 + 1e-5), 1e-5);
}

TEST(TrainingMode, OneModuleUsedTwiceIsUpdatedTwice) {
  Model model = Parse(
      "g (float[N,1] x, float[N,1] z) => (float[N,1] y) <float[1] s = {1}, float[1] b = {0}, "
      "float[1] mean = {0}, float[1] var = {1}> "
      "{ u = BatchNormalization <momentum = 0.5> (x, s, b, mean, var) "
      "  v = BatchNormalization <momentum = 0.5> (z, s, b, mean, var) y = Add(u, v) }");
  EXPECT_EQ(Train(model).batch_normalizations, 2);
  const Session::Outputs outputs =
      Evaluate(model, {{"x", Floats({2, 1}, {1, 3})}, {"z", Floats({2, 1}, {6, 10})}});
  // PyTorch: 0.5 * (0.5 * 0 + 0.5 * 2) + 0.5 * 8, and with variances 2 and 8.
  EXPECT_THAT(Values(outputs.at("next/mean").tensor()), ElementsAre(4.5f));
  EXPECT_THAT(Values(outputs.at("next/var").tensor()), Pointwise(FloatNear(1e-6f), {4.75f}));
  ASSERT_TRUE(SetInferenceMode(model).ok());
  EXPECT_EQ(testing::Nodes(model.graph),
            "u = BatchNormalization(x, s, b, mean, var)\n"
            "v = BatchNormalization(z, s, b, mean, var)\ny = Add(u, v)\n");
}

TEST(TrainingMode, EqualInitializersWrittenOnceAreSeveralStates) {
  Model model = Parse(
      "g (float[N,1] x) => (float[N,1] y) <float[1] s = {1}, float[1] b = {0}, "
      "float[1] mean = {0}, float[1] var = {1}> "
      "{ mean2 = Identity(mean) var2 = Identity(var) "
      "  u = BatchNormalization(x, s, b, mean, var) y = BatchNormalization(u, s, b, mean2, var2) "
      "}");
  EXPECT_EQ(Train(model).batch_normalizations, 2);
  EXPECT_EQ(model.updates.size(), 4u);
  const Session::Outputs outputs = Evaluate(model, {{"x", Floats({2, 1}, {1, 3})}});
  EXPECT_NEAR(outputs.at("next/mean").tensor().data<float>()[0], 0.2, 1e-6);
  EXPECT_NEAR(outputs.at("next/mean2").tensor().data<float>()[0], 0, 1e-6);
}

TEST(TrainingMode, FrozenNodesStay) {
  const std::string text =
      "g (float[N,2] x) => (float[N,2] y) <float[2] head_scale = {1, 2}, float[2] bias = {0, 1}, "
      "float[2] body_mean = {0.5, 1}, float[2] var = {4, 9}, float half = {0.5}> "
      "{ u = BatchNormalization(x, head_scale, bias, body_mean, var) body_u = Dropout(u, half) "
      "y = Identity(body_u) }";
  for (const char* pattern : {"body_*", "head_*"}) {
    Model model = Parse(text);
    TrainingModeOptions options;
    options.frozen = {pattern};
    const ModeChange change = Train(model, options);
    EXPECT_EQ(change.batch_normalizations, 0);
    EXPECT_EQ(change.dropouts, pattern[0] == 'b' ? 0 : 1);
    EXPECT_TRUE(change.left.empty());
    EXPECT_TRUE(model.updates.empty());
  }
}

TEST(TrainingMode, SaysWhatItLeaves) {
  Model model = Parse(
      "g (float[N,2] x, float[2] mean) => (float[N,2] y) <float[2] s = {1, 2}, float[2] v = {4, "
      "9}> "
      "{ y = BatchNormalization(x, s, s, mean, v) }");
  const ModeChange change = Train(model);
  EXPECT_EQ(change.batch_normalizations, 0);
  ASSERT_EQ(change.left.size(), 1u);
  EXPECT_THAT(change.left[0], HasSubstr("running statistics that are not initializers"));
}

TEST(TrainingMode, DropoutsDrawAnewInEachRun) {
  Model model = Parse(
      "g (float[1000] x) => (float[1000] y, bool[1000] m) <float r = {0.25}, float none = {0}> "
      "{ u = Dropout <seed = 3> (x, r) v, m = Dropout(u) y = Dropout(v, none) }");
  EXPECT_EQ(Train(model).dropouts, 2);
  Tensor ones(DType::kFloat32, Dims{1000});
  std::fill_n(ones.mutable_data<float>(), 1000, 1.0f);
  auto session = Session::Create(model);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::vector<float>> results;
  for (int run = 0; run < 2; ++run) {
    const auto outputs = (*session)->Run({{"x", ones}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    results.push_back(Values(outputs->at("y").tensor()));
    int64_t kept = 0;
    for (const float y : results.back()) {
      EXPECT_TRUE(y == 0 || std::fabs(y - 8 / 3.0f) < 1e-5f) << y;
      kept += y != 0;
    }
    EXPECT_NEAR(kept, 375, 60);
  }
  EXPECT_NE(results[0], results[1]);

  const auto change = SetInferenceMode(model);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->dropouts, 3);
  const Session::Outputs outputs = Evaluate(model, {{"x", ones}});
  EXPECT_EQ(Values(outputs.at("y").tensor()), Values(ones));
  EXPECT_TRUE(outputs.at("m").tensor().data<bool>()[999]);
}

TEST(TrainingMode, EachPassThroughALoopDropsOtherElements) {
  Model model = Parse(
      "g (int64 n, bool go, float[100] x) => (float[k,100] y) { y = Loop (n, go) <body = b (int64 "
      "i, bool c)"
      " => (bool d, float[100] a) { d = Identity(c) a = Dropout(x) }> }");
  Train(model);
  Tensor ones(DType::kFloat32, Dims{100});
  std::fill_n(ones.mutable_data<float>(), 100, 1.0f);
  auto session = Session::Create(model);
  ASSERT_TRUE(session.ok()) << session.status();
  std::set<std::vector<float>> rows;
  for (int run = 0; run < 2; ++run) {
    const auto outputs = (*session)->Run(
        {{"n", Tensor::Scalar(int64_t{5})}, {"go", Tensor::Scalar(true)}, {"x", ones}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<float> values = Values(outputs->at("y").tensor());
    for (size_t i = 0; i < values.size(); i += 100)
      rows.emplace(values.begin() + static_cast<int64_t>(i),
                   values.begin() + static_cast<int64_t>(i) + 100);
  }
  EXPECT_EQ(rows.size(), 10u);
}

TEST(TrainingMode, BodiesOfControlFlowDropToo) {
  Model model = Parse(
      "g (bool c, float[100,1] x) => (float[100,1] y) <float[1] s = {1}> { y = If (c) <"
      "then_branch = t () => (float[100,1] a) { a = Dropout(x) }, "
      "else_branch = e () => (float[100,1] b) { b = BatchNormalization(x, s, s, s, s) }> }");
  const ModeChange change = Train(model);
  EXPECT_EQ(change.dropouts, 1);
  ASSERT_EQ(change.left.size(), 1u);
  EXPECT_THAT(change.left[0], HasSubstr("is in a body of control flow"));
  Tensor ones(DType::kFloat32, Dims{100, 1});
  std::fill_n(ones.mutable_data<float>(), 100, 1.0f);
  const Session::Inputs inputs = {{"c", Tensor::Scalar(true)}, {"x", ones}};
  EXPECT_NE(Values(Evaluate(model, inputs).at("y").tensor()), Values(ones));
  ASSERT_TRUE(SetInferenceMode(model).ok());
  EXPECT_EQ(Values(Evaluate(model, inputs).at("y").tensor()), Values(ones));
}

}  // namespace
}  // namespace onward::training
