#include "onnx_io/expand_functions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/verify.h"
#include "gtest/gtest.h"
#include "onnx/defs/schema.h"
#include "onward/import.h"
#include "onward/session.h"
#include "tests/support/proto_text.h"

namespace onward::onnx_io {
namespace {

using ::testing::Contains;
using ::testing::Not;

Model FromText(const std::string& text) {
  auto model = ImportBytes(testing::ProtoFromText(text).SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

void ExpandAllBut(Graph& graph, const std::vector<std::string>& kept) {
  const absl::Status status = ExpandFunctions(graph, [&](const Graph& g, NodeId id) {
    return std::find(kept.begin(), kept.end(), g.node(id).op_type) != kept.end();
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(Verify(graph).ok()) << Verify(graph);
}

std::vector<std::string> Ops(const Graph& graph) {
  std::vector<std::string> ops;
  for (const NodeId id : graph.node_ids()) ops.push_back(graph.node(id).op_type);
  return ops;
}

TEST(ExpandFunctionsTest, ABodyReplacesANodeWithoutKernel) {
  Model model = FromText(R"(
    <ir_version: 10, opset_import: ["" : 22]> g (float[2,3] x) => (float[2,3] y) {
      [act] t = ThresholdedRelu <alpha = 2.0> (x)
      y = Neg(t)
    })");
  ExpandAllBut(model.graph, {});
  EXPECT_THAT(Ops(model.graph), Not(Contains("ThresholdedRelu")));
  EXPECT_THAT(Ops(model.graph), Contains("Neg"));
  const ValueId t = model.graph.FindValue("t");
  EXPECT_EQ(model.graph.type(t).ToString(), "float32[2,3]");
  const Node& last = model.graph.node(model.graph.value(t).producer);
  EXPECT_EQ(last.origin, "expand_functions @ [ThresholdedRelu 'act']");
}

TEST(ExpandFunctionsTest, NodesWithKernelStay) {
  Model model = FromText(R"(
    <ir_version: 10, opset_import: ["" : 22]> g (float[2] x) => (float[2] y) { y = Softplus(x) })");
  ExpandAllBut(model.graph, {"Softplus"});
  EXPECT_THAT(Ops(model.graph), ::testing::ElementsAre("Softplus"));
}

TEST(ExpandFunctionsTest, CenterCropPadWithAnInt32Shape) {
  Model model = FromText(R"(
    <ir_version: 10, opset_import: ["" : 22]> g (float[4] x, int32[1] shape) => (float[n] y) {
      y = CenterCropPad (x, shape)
    })");
  const auto session = Session::Create(std::move(model), {});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run(
      {{"x", Tensor::Of<float>({4}, {1, 2, 3, 4})}, {"shape", Tensor::Of<int32_t>({1}, {6})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(outputs->at("y").tensor().span<float>(), ::testing::ElementsAre(0, 1, 2, 3, 4, 0));
}

// By NumPy. The body computes scales in float32, which is 1e-8 off.
TEST(ExpandFunctionsTest, AttentionOfDoublesHasTheirPrecision) {
  const std::vector<std::vector<double>> expected = {{-1.895301935430973, 0.7778145616837107},
                                                     {-0.9197482961361236, -0.1770104858385827}};
  const Session::Inputs inputs = {{"q", Tensor::Of<double>({1, 2, 3}, {1, -2, 0.5, 0.25, 1.5, -1})},
                                  {"k", Tensor::Of<double>({1, 2, 3}, {0.5, 1, -1.5, 2, -0.5, 1})},
                                  {"v", Tensor::Of<double>({1, 2, 1}, {1, -2})}};
  for (size_t i = 0; i < 2; ++i) {
    Model model = FromText(absl::StrCat(
        R"(<ir_version: 10, opset_import: ["" : 24]>
           g (double[1,2,3] q, double[1,2,3] k, double[1,2,1] v) => (double[1,2,1] y) {
             y = Attention <q_num_heads = 1, kv_num_heads = 1)",
        i == 1 ? ", scale = 0.1" : "", "> (q, k, v) }"));
    const absl::Status expanded = ExpandFunctions(
        model.graph, [](const Graph& g, NodeId id) { return !g.node(id).Is("Attention"); });
    ASSERT_TRUE(expanded.ok()) << expanded;
    EXPECT_THAT(Ops(model.graph), Not(Contains("Attention")));
    const auto session = Session::Create(std::move(model), {});
    ASSERT_TRUE(session.ok()) << session.status();
    const auto outputs = (*session)->Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(outputs->at("y").tensor().span<double>(),
                ::testing::Pointwise(::testing::DoubleNear(1e-14), expected[i]));
  }
}

// The body of this op is written for opset 13, where its reductions had other attributes.
TEST(ExpandFunctionsTest, BodiesOfOlderOpsetsAreUpgraded) {
  Model model = FromText(R"(
    <ir_version: 10, opset_import: ["" : 22]>
    g (float[2,3] x, int64[2] l) => (float y) {
      y = SoftmaxCrossEntropyLoss <reduction = "mean"> (x, l)
    })");
  ExpandAllBut(model.graph,
               {"Shape", "Constant", "Reshape", "Squeeze", "NegativeLogLikelihoodLoss"});
  for (const NodeId id : model.graph.node_ids()) {
    const Node& node = model.graph.node(id);
    EXPECT_EQ(node.schema, onnx::OpSchemaRegistry::Schema(node.op_type, 28, "")) << node.op_type;
  }
  EXPECT_EQ(model.graph.type(model.graph.outputs()[0]).ToString(), "float32[]");
}

TEST(ExpandFunctionsTest, NodesInSubgraphsAreExpanded) {
  Model model = FromText(R"(
    <ir_version: 10, opset_import: ["" : 22]> g (bool c, float[2] x) => (float[2] y) {
      y = If(c) <then_branch = a () => (float[2] p) { p = Softplus(x) },
                 else_branch = b () => (float[2] q) { q = Neg(x) }>
    })");
  ExpandAllBut(model.graph, {});
  EXPECT_THAT(Ops(*model.graph.node({0}).subgraphs[0].graph), Not(Contains("Softplus")));
}

TEST(ExpandFunctionsTest, ABodyMayInlineASubgraphWithItsCaptures) {
  Model model = FromText(R"(
    <ir_version: 10, opset_import: ["" : 22]>
    g (seq(float[2]) s, float[2] bias) => (seq(float[2]) y) {
      y = SequenceMap(s) <body = each (float[2] v) => (float[2] w) { w = Add(v, bias) }>
    })");
  ExpandAllBut(model.graph, {});
  EXPECT_THAT(Ops(model.graph), Contains("Loop"));
  EXPECT_THAT(Ops(model.graph), Not(Contains("SequenceMap")));
  for (const NodeId id : model.graph.node_ids()) {
    const Node& node = model.graph.node(id);
    if (node.op_type != "Loop") continue;
    EXPECT_THAT(node.subgraphs[0].captures, Contains(model.graph.FindValue("bias")));
  }
}

}  // namespace
}  // namespace onward::onnx_io
