#include "graph/rewrite/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;
using testing::Nodes;

Graph Parse(const std::string& text) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(InferGraph(model->graph).ok());
  return std::move(model->graph);
}

TEST(Patch, ReplacesANodeAndTakesItsName) {
  Graph graph = Parse("g (float[N] x) => (float[N] y) { a = Exp(x) b = Neg(a) y = Abs(b) }");
  const ValueId b = graph.FindValue("b");
  Patch patch("test", graph);
  patch.Replace(b, patch.AddNode("Relu", {graph.FindValue("x")}));
  ASSERT_TRUE(Apply(graph, std::move(patch)).ok());
  EXPECT_EQ(Nodes(graph), "b = Relu(x)\ny = Abs(b)\n");
  EXPECT_EQ(graph.type(graph.FindValue("b")).ToString(), "float32[N]");
  EXPECT_EQ(graph.node(graph.value(graph.FindValue("b")).producer).origin, "test");
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
}

TEST(Patch, OriginsAddUp) {
  Graph graph = Parse("g (float[N] x) => (float[N] y) { y = Exp(x) }");
  for (const char* label : {"first", "second"}) {
    Patch patch(label, graph);
    patch.Replace(graph.FindValue("y"), patch.AddNode("Abs", {graph.FindValue("x")}));
    ASSERT_TRUE(Apply(graph, std::move(patch)).ok());
  }
  EXPECT_EQ(graph.node(graph.value(graph.FindValue("y")).producer).origin, "second; first");
}

TEST(Patch, ANodeMayReadWhatItReplaces) {
  Graph graph = Parse("g (float[N] x) => (float[N] y) { a = Exp(x) b = Neg(a) y = Add(a, b) }");
  const ValueId a = graph.FindValue("a");
  Patch patch("test", graph);
  patch.Replace(a, patch.AddNode("Abs", {a}));
  ASSERT_TRUE(Apply(graph, std::move(patch)).ok());
  EXPECT_EQ(Nodes(graph), "a = Exp(x)\na_Abs = Abs(a)\nb = Neg(a_Abs)\ny = Add(a_Abs, b)\n");
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
}

TEST(Patch, AnOutputKeepsItsNameBehindAnIdentity) {
  Graph graph = Parse("g (float[N] x) => (float[N] y) { y = Exp(x) }");
  Patch patch("test", graph);
  patch.Replace(graph.FindValue("y"), graph.FindValue("x"));
  ASSERT_TRUE(Apply(graph, std::move(patch)).ok());
  EXPECT_EQ(Nodes(graph), "y = Identity(x)\n");
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
}

TEST(Patch, AnotherTypeIsRefusedAndTheGraphIsAsBefore) {
  Graph graph = Parse("g (float[4] x) => (float[4] y) { a = Exp(x) y = Neg(a) }");
  Patch patch("wrong_rule @ y", graph);
  patch.Replace(graph.FindValue("a"),
                patch.AddNode("Cast", {graph.FindValue("x")}, {{"to", int64_t{11}}}));
  const absl::Status status = Apply(graph, std::move(patch));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("wrong_rule @ y"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("float64[4]"));
  EXPECT_EQ(Nodes(graph), "a = Exp(x)\ny = Neg(a)\n");
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
}

TEST(Patch, ANodeThatInferenceRefusesIsRefused) {
  Graph graph = Parse("g (float[4] x) => (float[4] y) { y = Neg(x) }");
  Patch patch("wrong_rule @ y", graph);
  patch.Replace(graph.FindValue("y"), patch.AddNode("Transpose", {graph.FindValue("x")},
                                                    {{"perm", std::vector<int64_t>{1, 0}}}));
  EXPECT_EQ(Apply(graph, std::move(patch)).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Nodes(graph), "y = Neg(x)\n");
}

TEST(Patch, RemovingWhatSomethingReadsIsRefused) {
  Graph graph = Parse("g (float[4] x) => (float[4] y) { a = Exp(x) y = Neg(a) }");
  Patch patch("test", graph);
  patch.Remove(graph.value(graph.FindValue("a")).producer);
  EXPECT_EQ(Apply(graph, std::move(patch)).code(), absl::StatusCode::kInternal);
}

TEST(Patch, AStalePatchIsRefused) {
  Graph graph = Parse("g (float[4] x) => (float[4] y) { y = Neg(x) }");
  Patch patch("test", graph);
  patch.Replace(graph.FindValue("y"), patch.AddNode("Abs", {graph.FindValue("x")}));
  GraphEdit(graph).AddValue("late", Type());
  EXPECT_EQ(Apply(graph, std::move(patch)).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace onward
