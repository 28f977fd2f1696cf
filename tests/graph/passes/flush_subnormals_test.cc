#include <gtest/gtest.h>

#include <cmath>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Optimize;

// y = x w + b, once by Gemm and once by Add, and x w by MatMul.
std::string Products(const std::string& w, const std::string& b) {
  return "g (float[1,2] x) => (float[1,2] y, float[1,2] z, float[1,2] s) <float[2,2] w = {" + w +
         "}, float[1,2] b = {" + b + "}> { y = Gemm(x, w, b) z = MatMul(x, w) s = Add(x, b) }";
}

const Node& Find(const Graph& graph, std::string_view op) {
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).Is(op)) return graph.node(id);
  }
  ADD_FAILURE() << "no " << op;
  return graph.node(graph.node_ids()[0]);
}

std::vector<float> Constant(const Graph& graph, ValueId id) {
  const auto values = graph.value(id).constant->span<float>();
  return {values.begin(), values.end()};
}

TEST(FlushSubnormals, WeightsAndBiasesOfProducts) {
  const Graph graph =
      Optimize(Products("1, 1e-39, -1.1754942e-38, 1.1754944e-38", "-1e-45, 2"), FlushSubnormals);
  const Node& gemm = Find(graph, "Gemm");
  EXPECT_EQ(Constant(graph, gemm.inputs[1]), (std::vector<float>{1, 0, 0, 1.1754944e-38f}));
  EXPECT_EQ(Constant(graph, gemm.inputs[2]), (std::vector<float>{0, 2}));
  EXPECT_TRUE(std::signbit(Constant(graph, gemm.inputs[1])[2]));
  EXPECT_EQ(Find(graph, "MatMul").inputs[1], gemm.inputs[1]) << "two copies of one matrix";
}

TEST(FlushSubnormals, LeavesThemWhereASumReadsThem) {
  const Graph graph = Optimize(Products("1, 2, 3, 4", "-1e-45, 2"), FlushSubnormals);
  EXPECT_EQ(Constant(graph, Find(graph, "Add").inputs[1]), (std::vector<float>{-1e-45f, 2}));
}

TEST(FlushSubnormals, LeavesConstantsThatHaveNone) {
  const Graph graph = Optimize(Products("0, -0.0, 1e38, 1", "0, 0"), FlushSubnormals);
  const Node& gemm = Find(graph, "Gemm");
  EXPECT_EQ(graph.value(gemm.inputs[1]).name, "w");
  EXPECT_EQ(graph.value(gemm.inputs[2]).name, "b");
}

TEST(FlushSubnormals, NotInStrict) {
  absl::StatusOr<Model> model = testing::ModelFromText(Products("1, 1e-39, 0, 1", "0, 0"));
  ASSERT_TRUE(model.ok()) << model.status();
  PassOptions options;
  options.excess_precision = false;
  int budget = 10;
  EXPECT_EQ(*FlushSubnormals(model->graph, options, budget), 0);
  EXPECT_EQ(Constant(model->graph, Find(model->graph, "Gemm").inputs[1])[1], 1e-39f);
}

}  // namespace
}  // namespace onward
