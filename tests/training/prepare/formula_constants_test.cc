// What a training leaves alone of the initializers that exporters write.
#include "training/prepare/formula_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "graph/ir/graph_edit.h"
#include "tests/support/text_model.h"
#include "training/prepare/trainable.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;

// The states that dynamo=True writes for a GRU, and a GroupNorm's InstanceNormalization.
TEST(FormulaConstants, DefaultsAreNotTrained) {
  auto model = testing::ModelFromText(
      "g (float[1,3,2] x) => (float y) <float[1,6,2] w = {1,2,3,4,5,6,7,8,9,10,11,12}, "
      "float[1,6,2] r = {1,2,3,4,5,6,7,8,9,10,11,12}, float[1,12] b = {0,0,0,0,0,0,0,0,0,0,0,0}, "
      "float[1,3,2] val_1 = {0,0,0,0,0,0}, float[3] val_2 = {1,1,1}, float[3] val_3 = {0,0,0}, "
      "float[3] val_4 = {0,1,0}> {"
      "n = InstanceNormalization(x, val_2, val_3) m = InstanceNormalization(n, val_2, val_4) "
      "s, h = GRU <hidden_size = 2> (m, w, r, b, , val_1) y = ReduceSum <keepdims = 0> (s) }");
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::string> all = {"w", "r", "b", "val_1", "val_2", "val_3", "val_4"};
  const auto names = [&](const std::vector<std::string>& trainable) {
    std::vector<std::string> result;
    const auto chosen = TrainableParameters(*model, all, model->graph.outputs()[0], trainable, {});
    EXPECT_TRUE(chosen.ok()) << chosen.status();
    for (const ValueId id : chosen.value_or(std::vector<ValueId>()))
      result.push_back(model->graph.value(id).name);
    return result;
  };
  EXPECT_THAT(names({}), ElementsAre("w", "r", "b", "val_4"));
  EXPECT_THAT(names({"val_1", "val_2"}), ElementsAre("val_1", "val_2"));
  EXPECT_THAT(MayBeTrained(*model, all, {}), ElementsAre("w", "r", "b", "val_4"));
  EXPECT_THAT(MayBeTrained(*model, all, std::vector<std::string>{"*_2"}),
              ElementsAre("w", "r", "b", "val_2", "val_4"));
  all[3] = "h0";
  GraphEdit(model->graph).Rename(model->graph.FindValue("val_1"), "h0");
  EXPECT_THAT(names({}), ElementsAre("w", "r", "b", "h0", "val_4"));
}

// A layer of one output, a convolution of one filter, a temperature of a module; 0.5 is of a
// formula.
TEST(FormulaConstants, WeightsOfOneElementAreTrained) {
  auto model = testing::ModelFromText(
      "g (float[4,2] x) => (float y) <float[2,1] w = {1,2}, float[1] b = {0}, "
      "float[1,1,1] filter = {3}, float[1] f = {0}, float \"m.scale\" = {1}, float \"onnx::Mul_5\" "
      "= {0.5}, "
      "float[1] val_3 = {2}, float[1] \"model/one:0\" = {1}, float logit_scale = {2}, int64[3] s = "
      "{4,1,1}> {"
      "p = MatMul(x, w) a = Add(p, b) r = Reshape(a, s) c = Conv(r, filter, f) "
      "d = Mul(c, \"m.scale\") e = Mul(d, \"onnx::Mul_5\") g = Mul(e, val_3) h = Add(g, "
      "\"model/one:0\") "
      "i = Mul(h, logit_scale) y = ReduceSum <keepdims = 0> (i) }");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<std::string> all = {
      "w", "b", "filter", "f", "m.scale", "onnx::Mul_5", "val_3", "model/one:0", "logit_scale"};
  const auto chosen = TrainableParameters(*model, all, model->graph.outputs()[0], {}, {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  std::vector<std::string> names;
  for (const ValueId id : *chosen) names.push_back(model->graph.value(id).name);
  EXPECT_THAT(names, ElementsAre("w", "b", "filter", "f", "m.scale", "logit_scale"));
}

class Tables : public ::testing::Test {
 protected:
  void Add(const std::string& name, DimsView dims, const std::function<double(int64_t)>& at) {
    Tensor tensor(DType::kFloat32, dims);
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      tensor.mutable_data<float>()[i] = static_cast<float>(at(i));
    ids_.push_back(GraphEdit(graph_).AddConstant(name, std::move(tensor)));
  }
  std::vector<std::string> Found() {
    std::vector<std::string> names;
    for (const auto& [id, reason] : FormulaConstants(graph_, ids_))
      names.push_back(graph_.value(id).name);
    return names;
  }

  Graph graph_;
  std::vector<ValueId> ids_;
};

// "RoFormer" (arXiv 2104.09864): position m turns pair i by m / 10000^(2i/d); here d = 4.
double Angle(int64_t i) { return static_cast<double>(i / 4) / std::pow(10000.0, (i % 2) / 2.0); }

TEST_F(Tables, OfAngles) {
  Add("cos", {1, 1, 7, 4}, [](int64_t i) { return 1.2 * std::cos(Angle(i)); });
  Add("weight", {1, 1, 7, 4}, [](int64_t i) { return std::sin(static_cast<double>(i * i)); });
  Add("sin", {1, 1, 7, 4}, [](int64_t i) { return 1.2 * std::sin(Angle(i)); });
  Add("ones", {1, 1, 7, 4}, [](int64_t) { return 1; });
  Add("zeros", {1, 1, 7, 4}, [](int64_t) { return 0; });
  EXPECT_THAT(Found(), ElementsAre("cos", "sin"));
}

// "Attention Is All You Need", 3.5: sines at even, cosines at odd places; and in halves.
TEST_F(Tables, OfSinusoidalPositions) {
  const auto angle = [](int64_t row, int64_t pair) {
    return static_cast<double>(row) / std::pow(10000.0, static_cast<double>(pair) / 3);
  };
  Add("pe", {1, 5, 6}, [&](int64_t i) {
    const double a = angle(i / 6, i % 6 / 2);
    return i % 2 == 0 ? std::sin(a) : std::cos(a);
  });
  Add("halves", {5, 6}, [&](int64_t i) {
    const double a = angle(i / 6, i % 3);
    return i % 6 < 3 ? std::sin(a) : std::cos(a);
  });
  Add("embedding", {5, 6}, [](int64_t i) { return std::sin(static_cast<double>(i * i)); });
  EXPECT_THAT(Found(), ElementsAre("pe", "halves"));
}

TEST_F(Tables, OfFrequencies) {
  Add("powers", {4}, [](int64_t i) { return std::pow(10000.0, -static_cast<double>(i) / 4); });
  Add("val_7", {4}, [](int64_t i) { return std::pow(10000.0, -static_cast<double>(i) / 4); });
  Add("m.rotary_emb.inv_freq", {2}, [](int64_t i) { return i == 0 ? 0.7 : 0.3; });
  Add("pair", {2}, [](int64_t i) { return i == 0 ? 1 : 0.5; });
  Add("ones", {4}, [](int64_t) { return 1; });
  Add("bias", {4}, [](int64_t i) { return 1 - 0.2 * static_cast<double>(i); });
  EXPECT_THAT(Found(), ElementsAre("val_7", "m.rotary_emb.inv_freq"));
}

// "Train Short, Test Long" (arXiv 2108.12409): slopes 2^-h times the distance.
TEST_F(Tables, OfMasksAndDistances) {
  Add("alibi", {1, 2, 3, 3}, [](int64_t i) {
    return std::pow(0.5, static_cast<double>(i / 9)) * static_cast<double>(i % 3 - i / 3 % 3);
  });
  Add("mask", {3, 3}, [](int64_t i) { return i % 3 > i / 3 ? -1e4 : 0; });
  Add("least", {2, 2},
      [](int64_t i) { return i == 1 ? std::numeric_limits<float>::lowest() : 0.5; });
  Add("line", {3, 3}, [](int64_t i) { return static_cast<double>(i); });
  Add("zeros", {3, 3}, [](int64_t) { return 0; });
  EXPECT_THAT(Found(), ElementsAre("alibi", "mask", "least"));
}

}  // namespace
}  // namespace onward::training
