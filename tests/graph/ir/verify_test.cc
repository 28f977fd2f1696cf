#include "graph/ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ir/graph_edit.h"
#include "onward/builder.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

Graph Small() {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {2});
  b.Output("y", Relu(Abs(x) + b.Constant(Tensor(DType::kFloat32, {2}), "c")));
  absl::StatusOr<Model> model = b.Build();
  return std::move(model->graph);
}

std::string Breach(const Graph& graph) {
  const absl::Status status = Verify(graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  return std::string(status.message());
}

TEST(Verify, AcceptsAGoodGraph) { EXPECT_TRUE(Verify(Small()).ok()); }

TEST(Verify, FindsIdsOutOfRange) {
  Graph graph = Small();
  GraphEdit(graph).AddOutput({99});
  EXPECT_THAT(Breach(graph), HasSubstr("value 99 does not exist"));
}

TEST(Verify, FindsTwoProducers) {
  Graph graph = Small();
  Node node = Node();
  node.op_type = "Neg";
  node.inputs = {graph.inputs()[0]};
  node.outputs = {graph.outputs()[0]};
  GraphEdit(graph).AddNode(std::move(node));
  EXPECT_THAT(Breach(graph), HasSubstr("value 'y' has two producers, [Relu 'y'] and [Neg 'y']"));
}

TEST(Verify, FindsWrongUsers) {
  Graph graph = Small();
  GraphEdit(graph).node(graph.node_ids()[0]).inputs[0] = graph.FindValue("c");
  EXPECT_THAT(Breach(graph), HasSubstr("the users of value 'x' are wrong"));
}

TEST(Verify, FindsValuesWithoutSource) {
  Graph graph = Small();
  GraphEdit(graph).constant(graph.FindValue("c")).reset();
  EXPECT_THAT(Breach(graph), HasSubstr("value 'c' is read but is not an input"));
}

TEST(Verify, FindsConstantsOfAnotherType) {
  Graph graph = Small();
  GraphEdit(graph).constant(graph.FindValue("c")) = Tensor(DType::kFloat32, {3});
  EXPECT_THAT(Breach(graph), HasSubstr("constant 'c' has type float32[2] but holds float32[3]"));
}

TEST(Verify, FindsCycles) {
  Graph graph = Small();
  const std::vector<NodeId> nodes = graph.node_ids();
  GraphEdit(graph).SetInput(nodes[0], 0, graph.outputs()[0]);
  EXPECT_THAT(Breach(graph), HasSubstr("cycle"));
}

TEST(Verify, LooksIntoBodies) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {2});
  const auto same = [&](ExprSink&) { return std::vector<Expr>{x}; };
  b.Output("y", b.If(b.Input("c", DType::kBool, {}), same, same)[0]);
  absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok());
  Graph& graph = model->graph;
  GraphEdit(*graph.node(graph.node_ids()[0]).subgraphs[0].graph).AddCapture("more", Type());
  EXPECT_THAT(Breach(graph), HasSubstr("gives 'then_branch' 1 captures, it has 2"));
}

}  // namespace
}  // namespace onward
