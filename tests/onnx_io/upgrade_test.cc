#include "onnx_io/upgrade/upgrade.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/opset.h"
#include "gtest/gtest.h"
#include "onnx/defs/schema.h"
#include "onward/import.h"

namespace onward::onnx_io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const onnx::OpSchema* SchemaAt(const std::string& op, int version) {
  return onnx::OpSchemaRegistry::Schema(op, version, "");
}

// A graph of one node `op` with the meaning of opset `version`, on float inputs.
Graph OneNode(const std::string& op, int version, const std::vector<Type>& inputs,
              Attributes attributes = {}, int num_outputs = 1) {
  Graph graph;
  Node node;
  node.op_type = op;
  node.name = "node";
  node.schema = SchemaAt(op, version);
  node.attributes = std::move(attributes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    node.inputs.push_back(GraphEdit(graph).AddInput("x" + std::to_string(i), inputs[i]));
  }
  for (int i = 0; i < num_outputs; ++i) {
    node.outputs.push_back(GraphEdit(graph).AddValue("y" + std::to_string(i), Type()));
    GraphEdit(graph).AddOutput(node.outputs.back());
  }
  GraphEdit(graph).AddNode(std::move(node));
  return graph;
}

std::vector<std::string> OpsInOrder(const Graph& graph) {
  std::vector<std::string> ops;
  const std::vector<NodeId> order = graph.TopologicalOrder().value();
  for (NodeId id : order) ops.push_back(graph.node(id).op_type);
  return ops;
}

const Node& OnlyNode(const Graph& graph, const std::string& op) {
  for (NodeId id : graph.node_ids()) {
    if (graph.node(id).op_type == op) return graph.node(id);
  }
  ADD_FAILURE() << "no " << op;
  static const Node none;
  return none;
}

Type Floats(std::vector<int64_t> dims) { return Type::Tensor(DType::kFloat32, DimsView(dims)); }
Type FloatsOfAnyRank() { return Type::Tensor(DType::kFloat32); }

TEST(UpgradeTest, GivesEveryNodeTheNewestSchema) {
  Graph graph = OneNode("Relu", 6, {Floats({2})});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_EQ(OnlyNode(graph, "Relu").schema, SchemaAt("Relu", static_cast<int>(kOpset)));
}

TEST(UpgradeTest, TellsWhetherNodesWereAdded) {
  Graph renamed = OneNode("Scatter", 9, {Floats({2}), Floats({2}), Floats({2})});
  EXPECT_FALSE(UpgradeGraph(renamed).value());
  Graph rewritten = OneNode("Softmax", 1, {FloatsOfAnyRank()});
  EXPECT_TRUE(UpgradeGraph(rewritten).value());
}

TEST(UpgradeTest, KnowsWhichRemovedOpsItTakes) {
  EXPECT_TRUE(UpgradesRemovedOp("", "Crop", 5, nullptr));
  EXPECT_FALSE(UpgradesRemovedOp("", "Crop", 13, nullptr));
  EXPECT_FALSE(UpgradesRemovedOp("", "Gelu", 9, nullptr));
  EXPECT_TRUE(UpgradesRemovedOp("", "GroupNormalization", 18, SchemaAt("GroupNormalization", 18)));
  EXPECT_TRUE(UpgradesRemovedOp("", "Upsample", 13, SchemaAt("Upsample", 13)));
}

TEST(UpgradeTest, NewestNodesStay) {
  Graph graph = OneNode("Softmax", 13, {Floats({2, 3, 4})}, {{"axis", int64_t{1}}});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_THAT(OpsInOrder(graph), ElementsAre("Softmax"));
  EXPECT_EQ(OnlyNode(graph, "Softmax").attributes.Int("axis", 0), 1);
}

TEST(UpgradeTest, SoftmaxCountsItsInputAsMatrix) {
  Graph graph = OneNode("Softmax", 11, {Floats({2, 3, 4})});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_THAT(OpsInOrder(graph),
              ::testing::UnorderedElementsAre("Flatten", "Shape", "Softmax", "Reshape"));
  EXPECT_EQ(OnlyNode(graph, "Softmax").attributes.Int("axis", 0), -1);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y0");
}

TEST(UpgradeTest, SoftmaxOfTheLastAxisStaysOneNode) {
  Graph graph = OneNode("Softmax", 11, {Floats({2, 3})});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_THAT(OpsInOrder(graph), ElementsAre("Softmax"));
}

TEST(UpgradeTest, AxisOfOldBroadcastBecomesOnes) {
  Graph graph = OneNode("Add", 6, {Floats({2, 3, 4, 5}), Floats({3, 4})},
                        {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_THAT(OpsInOrder(graph), ElementsAre("Unsqueeze", "Add"));
  const Tensor* axes = graph.constant(OnlyNode(graph, "Unsqueeze").inputs[1]);
  ASSERT_NE(axes, nullptr);
  EXPECT_THAT(ToInt64(axes->view()), ElementsAre(2));
  EXPECT_TRUE(OnlyNode(graph, "Add").attributes.map().empty());
}

TEST(UpgradeTest, AxisOfOldBroadcastIsFoundAtRunWhereRanksAreUnknown) {
  Graph graph = OneNode("Add", 1, {FloatsOfAnyRank(), FloatsOfAnyRank()},
                        {{"broadcast", int64_t{1}},
                         {"axis", int64_t{0}},
                         {"consumed_inputs", std::vector<int64_t>{0, 0}}});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_EQ(OnlyNode(graph, "Add").inputs[1], OnlyNode(graph, "Reshape").outputs[0]);
  EXPECT_TRUE(OnlyNode(graph, "Add").attributes.map().empty());
}

TEST(UpgradeTest, UpsampleBecomesResize) {
  Graph graph =
      OneNode("Upsample", 7, {Floats({1, 1, 2, 2})}, {{"scales", std::vector<float>{1, 1, 2, 2}}});
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  EXPECT_THAT(OpsInOrder(graph), ElementsAre("Resize"));
  const Node& resize = OnlyNode(graph, "Resize");
  EXPECT_EQ(resize.schema, SchemaAt("Resize", static_cast<int>(kOpset)));
  EXPECT_EQ(resize.attributes.String("coordinate_transformation_mode"), "asymmetric");
  EXPECT_TRUE(graph.is_constant(resize.inputs[2]));
  EXPECT_FALSE(resize.attributes.Has("scales"));
}

TEST(UpgradeTest, ChangesBodies) {
  Graph graph;
  Node node;
  node.op_type = "If";
  node.schema = SchemaAt("If", 1);
  node.inputs = {GraphEdit(graph).AddInput("c", Type::Tensor(DType::kBool, DimsView()))};
  const ValueId outer = GraphEdit(graph).AddInput("x", Floats({2, 2}));
  for (const char* name : {"then_branch", "else_branch"}) {
    auto body = std::make_unique<Graph>();
    Node squeeze;
    squeeze.op_type = "Unsqueeze";
    squeeze.schema = SchemaAt("Unsqueeze", 1);
    squeeze.inputs = {GraphEdit(*body).AddCapture("x", Floats({2, 2}))};
    squeeze.outputs = {GraphEdit(*body).AddValue("y", Type())};
    squeeze.attributes.Set("axes", std::vector<int64_t>{0});
    GraphEdit(*body).AddOutput(squeeze.outputs[0]);
    GraphEdit(*body).AddNode(std::move(squeeze));
    node.subgraphs.push_back({name, std::move(body), {outer}});
  }
  node.outputs = {GraphEdit(graph).AddValue("z", Type())};
  GraphEdit(graph).AddOutput(node.outputs[0]);
  GraphEdit(graph).AddNode(std::move(node));
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  for (const Subgraph& body : OnlyNode(graph, "If").subgraphs) {
    EXPECT_EQ(OnlyNode(*body.graph, "Unsqueeze").inputs.size(), 2u);
  }
}

TEST(UpgradeTest, ListsAllThatItCannotUpgrade) {
  Graph graph = OneNode("ATen", 1, {Floats({2})});
  Node second;
  second.op_type = "GRUUnit";
  second.name = "unit";
  second.inputs = {graph.inputs()[0]};
  second.outputs = {GraphEdit(graph).AddValue("z", Type())};
  GraphEdit(graph).AddNode(std::move(second));
  const absl::Status status = UpgradeGraph(graph).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("[ATen 'node'] the experimental op ATen"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("[GRUUnit 'unit']"));
}

}  // namespace
}  // namespace onward::onnx_io
