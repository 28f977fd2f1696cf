#include <gtest/gtest.h>

#include "executors/evaluate.h"
#include "graph/infer/infer.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, FoldConstants)); }

TEST(FoldConstants, WholeChains) {
  EXPECT_EQ(After("g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {"
                  "a = Neg(c) b = Mul(a, a) y = Add(x, b) }"),
            "y = Add(x, b)\n");
}

TEST(FoldConstants, AnOutputMayBecomeAConstant) {
  EXPECT_EQ(After("g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Neg(c) }"), "");
}

TEST(FoldConstants, LeavesRandomNumbersAndQuantizedWeights) {
  EXPECT_EQ(After("g (float[2] x) => (float[2] y) <int8[2] c = {1, 2}, float s = {0.5}> {"
                  "a = DequantizeLinear(c, s) y = Add(x, a) }"),
            "a = DequantizeLinear(c, s)\ny = Add(x, a)\n");
}

TEST(FoldConstants, AnInputWithADefaultIsNoConstant) {
  EXPECT_EQ(
      After("g (float[2] x, float[2] c = {1, 2}) => (float[2] y) { a = Neg(c) y = Add(x, a) }"),
      "a = Neg(c)\ny = Add(x, a)\n");
}

TEST(FoldConstants, HugeResultsAreComputedAtRunTime) {
  auto model = testing::ModelFromText(
      "g (float[1] x) => (float[M] y) <int64[1] n = {2000000}> {"
      "a = ConstantOfShape(n) y = Add(x, a) }");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(InferGraph(model->graph).ok());
  PassOptions options;
  options.evaluate = [](const Graph& g, NodeId id) { return executors::EvaluateOnCpu(g, id); };
  int budget = 100;
  EXPECT_EQ(*FoldConstants(model->graph, options, budget), 0);
}

TEST(FoldConstants, ABudgetStopsIt) {
  auto model = testing::ModelFromText(
      "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {"
      "a = Neg(c) b = Mul(a, a) y = Add(x, b) }");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(InferGraph(model->graph).ok());
  PassOptions options;
  options.evaluate = [](const Graph& g, NodeId id) { return executors::EvaluateOnCpu(g, id); };
  options.stop_after_patches = 1;
  const auto reports = RunPasses(model->graph, {{"fold_constants", FoldConstants}}, options);
  ASSERT_TRUE(reports.ok());
  EXPECT_EQ((*reports)[0].patches, 1);
  EXPECT_EQ(Nodes(model->graph), "b = Mul(a, a)\ny = Add(x, b)\n");
}

}  // namespace
}  // namespace onward
