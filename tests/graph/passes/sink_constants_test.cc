#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

TEST(SinkConstants, IntoNestedBodies) {
  const Graph graph = testing::Optimize(
      "g (bool p, bool c, float[2] x) => (float[2] y) <float[2] k = {2, 3}> { y = If (c) <"
      "then_branch = t () => (float[2] u) { u = Mul(x, k) },"
      "else_branch = e () => (float[2] v) { v = If (p) <"
      "then_branch = tt () => (float[2] q) { q = Add(x, k) },"
      "else_branch = ee () => (float[2] r) { r = Sub(x, k) }> }> }",
      SinkConstants);
  const Node& node = graph.node(graph.node_ids()[0]);
  for (const Subgraph& body : node.subgraphs) {
    for (ValueId capture : body.captures) EXPECT_FALSE(graph.is_constant(capture));
  }
  const Graph& middle = *node.FindSubgraph("else_branch")->graph;
  const Node& inner = middle.node(middle.node_ids()[0]);
  for (const Subgraph& body : inner.subgraphs) {
    EXPECT_EQ(body.captures.size(), 1u);
    EXPECT_FALSE(middle.is_constant(body.captures[0]));
  }
}

}  // namespace
}  // namespace onward
