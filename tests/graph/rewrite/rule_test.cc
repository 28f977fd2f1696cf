#include "graph/rewrite/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

std::optional<Patch> NegToAbs(const Graph& graph, NodeId root) {
  Patch patch(graph);
  patch.Replace(graph.node(root).outputs[0], patch.AddNode("Abs", graph.node(root).inputs));
  return patch;
}

std::optional<Patch> MergeAbs(const Graph& graph, NodeId root) {
  const Node* inner = MadeBy(graph, graph.node(root).inputs[0], "Abs");
  if (inner == nullptr) return std::nullopt;
  Patch patch(graph);
  patch.Replace(graph.node(root).outputs[0], graph.node(root).inputs[0]);
  return patch;
}

// x -> Neg -> Neg -> ... of `length` nodes.
Graph Chain(int length) {
  Graph graph;
  ValueId last = GraphEdit(graph).AddInput("x", Type::Tensor(DType::kFloat32, {4}));
  for (int i = 0; i < length; ++i) {
    Node node;
    node.op_type = "Neg";
    node.schema = FindSchema("Neg", "");
    node.inputs = {last};
    last = GraphEdit(graph).AddValue(absl::StrCat("v", i), Type::Tensor(DType::kFloat32, {4}));
    node.outputs = {last};
    GraphEdit(graph).AddNode(std::move(node));
  }
  GraphEdit(graph).AddOutput(last);
  return graph;
}

TEST(ApplyRules, RunsToAFixedPointInTimeThatGrowsWithTheGraph) {
  Graph graph = Chain(5000);
  const Rule rules[] = {{"neg_to_abs", "Neg", NegToAbs}, {"merge_abs", "Abs", MergeAbs}};
  int budget = 1 << 20;
  const auto start = std::chrono::steady_clock::now();
  const auto patches = ApplyRules(graph, rules, budget);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(patches.ok()) << patches.status();
  EXPECT_EQ(*patches, 5000 + 4999);
  EXPECT_EQ(testing::Nodes(graph), "v4999 = Abs(x)\n");
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  EXPECT_LT(took.count(), 20);
}

TEST(ApplyRules, LabelsNodesWithRuleAndPlace) {
  Graph graph = Chain(1);
  const Rule rules[] = {{"neg_to_abs", "Neg", NegToAbs}};
  int budget = 10;
  ASSERT_TRUE(ApplyRules(graph, rules, budget).ok());
  EXPECT_EQ(graph.node(graph.value(graph.outputs()[0]).producer).origin, "neg_to_abs @ v0");
  EXPECT_EQ(budget, 9);
}

TEST(ApplyRules, StopsAtTheBudget) {
  Graph graph = Chain(5);
  const Rule rules[] = {{"neg_to_abs", "Neg", NegToAbs}};
  int budget = 2;
  EXPECT_EQ(*ApplyRules(graph, rules, budget), 2);
  EXPECT_EQ(budget, 0);
}

TEST(ApplyRules, ARuleThatFiresForEverIsAnError) {
  Graph graph = Chain(1);
  const Rule rules[] = {{"again", "", NegToAbs}};
  int budget = 1 << 30;
  const auto patches = ApplyRules(graph, rules, budget);
  EXPECT_EQ(patches.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(patches.status().message()), HasSubstr("again @ v0"));
}

}  // namespace
}  // namespace onward
