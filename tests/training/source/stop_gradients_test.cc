// Values through which no gradient flows: named by a user, or detached in a PyTorch source.
#include "training/source/stop_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "onward/gradient.h"
#include "tests/support/text_model.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model Parsed(const std::string& text) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

constexpr char kSquare[] =
    "g (float[3,2] x) => (float l) <float[2] w = {1, 2}> {"
    "y = Mul(x, w) d = Identity(y) m = Mul(y, d) l = ReduceSum <keepdims = 0> (m) }";

void Fx(Model& model, const std::string& output, const std::string& text) {
  Graph& graph = model.graph;
  GraphEdit(graph)
      .node(graph.value(graph.FindValue(output)).producer)
      .metadata["pkg.torch.onnx.fx_node"] = text;
}

TEST(StopGradients, AtNamedValues) {
  Model model = Parsed(kSquare);
  ASSERT_TRUE(StopGradientsAt(model.graph, std::vector<std::string>{"d"}, "stop_gradient").ok());
  EXPECT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
  EXPECT_THAT(testing::Nodes(model.graph), HasSubstr("Mul(y, d/detached)"));
  const absl::Status none =
      StopGradientsAt(model.graph, std::vector<std::string>{"q"}, "--stop-gradient");
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("--stop-gradient: no value of the model matches 'q'"));
}

// An output that is named is detached itself.
TEST(StopGradients, OfAnOutput) {
  Model model = Parsed(kSquare);
  ASSERT_TRUE(StopGradientsAt(model.graph, std::vector<std::string>{"l"}, "stop_gradient").ok());
  EXPECT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
  EXPECT_EQ(model.graph.value(model.graph.outputs()[0]).name, "l");
  EXPECT_THAT(testing::Nodes(model.graph), HasSubstr("l = onward.StopGradient(l/attached)"));
}

// torch.onnx.export(dynamo=True, optimize=False) of (y * y.detach()).sum().
TEST(StopGradients, AtDetach) {
  Model model = Parsed(kSquare);
  Fx(model, "d",
     "%d : [num_users=1] = call_function[target=torch.ops.aten.detach.default](args = "
     "(%y,), kwargs = {})");
  EXPECT_EQ(StopDetached(model.graph).stopped, 1);
  EXPECT_EQ(StopDetached(model.graph).stopped, 0);
  EXPECT_THAT(testing::Nodes(model.graph), HasSubstr("d = onward.StopGradient(y)"));
  StopGradientsToIdentities(model.graph);
  EXPECT_THAT(testing::Nodes(model.graph), HasSubstr("d = Identity(y)"));
  EXPECT_EQ(StopDetached(model.graph).stopped, 1);
}

// The same without the Identity: torch.onnx.export(dynamo=True).
TEST(StopGradients, AtInputsThatWereDetached) {
  Model model = Parsed(
      "g (float[3,2] x) => (float l) <float[2] w = {1, 2}> {"
      "y = Mul(x, w) mul = Mul(y, y) l = ReduceSum <keepdims = 0> (mul) }");
  Fx(model, "mul",
     "%mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = "
     "(%y, %detach), kwargs = {})");
  EXPECT_EQ(StopDetached(model.graph).stopped, 1);
  EXPECT_EQ(StopDetached(model.graph).stopped, 0);
  EXPECT_THAT(testing::Nodes(model.graph), HasSubstr("mul = Mul(y, y/detached)"));
}

// Which of the computations that became one was detached, the file does not say.
TEST(StopGradients, WhatCannotBeToldIsSaid) {
  Model model = Parsed(
      "g (float[3,2] x) => (float l) <float[2] w = {1, 2}> {"
      "y = Mul(x, w) exp = Exp(y) mul = Mul(exp, exp) l = ReduceSum <keepdims = 0> (mul) }");
  Fx(model, "exp",
     "%exp : [num_users=1] = call_function[target=torch.ops.aten.exp.default](args = "
     "(%y,), kwargs = {})");
  Fx(model, "mul",
     "%mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = "
     "(%exp, %exp_1), kwargs = {})");
  const DetachReport report = StopDetached(model.graph);
  EXPECT_EQ(report.stopped, 0);
  EXPECT_THAT(report.doubtful, ElementsAre(HasSubstr("the exporter merged 'exp_1' with 'exp'")));
}

}  // namespace
}  // namespace onward::training
