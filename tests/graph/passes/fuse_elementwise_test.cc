// Groups of elementwise ops: what joins, and what may not.
#include <gtest/gtest.h>

#include <string>

#include "graph/passes/passes.h"
#include "onward/graph.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

// The steps of the node that makes `value`, a line each.
std::string StepsOf(const Graph& graph, const std::string& value) {
  std::string steps;
  for (const std::string& step :
       graph.node(graph.value(graph.FindValue(value)).producer).attributes.Strings("steps"))
    steps += step + "\n";
  return steps;
}

TEST(FuseElementwise, JoinsOpsThatReadEachOther) {
  const Graph graph = Optimize(
      "g (float[n, 4] a, float[4] b) => (float[n, 4] y) {"
      "p = Mul (a, b) q = LeakyRelu <alpha = 0.1> (p) lowest = Constant <value_float = -1.5> ()"
      "r = Clip (q, lowest) s = Clip (r, , lowest) y = Add (s, p) }",
      FuseElementwise);
  EXPECT_EQ(Nodes(graph), "y = onward.Elementwise(a, b, lowest)\n");
  EXPECT_EQ(StepsOf(graph, "y"),
            "Mul 0 1\nLeakyRelu(alpha=0.100000001f) 3\nClip 4 2\nClip 5 _ 2\nAdd 6 3\n");
}

TEST(FuseElementwise, KeepsResultsThatOthersRead) {
  const Graph graph = Optimize(
      "g (float[n, 4] a) => (float[n, 4] y, float[n, 4] p) { p = Neg (a) q = Exp (p) "
      "r = Softmax (q) s = Sin (q) y = Add (r, s) }",
      FuseElementwise);
  // The last sum reads what follows from Exp through Softmax.
  EXPECT_EQ(Nodes(graph), "p, q, s = onward.Elementwise(a)\nr = Softmax(q)\ny = Add(r, s)\n");
}

TEST(FuseElementwise, GroupsMayReadEachOthersResultsInOneDirection) {
  // The product reads q, too, but follows from the second group, which follows from q.
  const Graph graph = Optimize(
      "g (float[n, 4] a, float[n, 4] b) => (float[n, 4] y, float[n, 4] z) {"
      "p = Neg (a) q = Exp (p) r = Softmax (q) s = Abs (b) t = Add (s, r) u = Softmax (s) "
      "v = Mul (u, q) z = Tanh (v) y = Sin (t) }",
      FuseElementwise);
  EXPECT_EQ(Nodes(graph),
            "q = onward.Elementwise(a)\nr = Softmax(q)\ns, y = onward.Elementwise(b, r)\n"
            "u = Softmax(s)\nz = onward.Elementwise(u, q)\n");
}

TEST(FuseElementwise, LeavesDimsAndOtherShapesAlone) {
  const Graph graph = Optimize(
      "g (float[n, 4] a) => (int64[1] y, float[n, 4] z) <int64[1] two = {2}> {"
      "shape = Shape <end = 1> (a) twice = Mul (shape, two) y = Add (twice, two) "
      "m = ReduceMax <keepdims = 1, noop_with_empty_axes = 0> (a) n = Neg (m) z = Add (a, n) }",
      FuseElementwise);
  EXPECT_EQ(Nodes(graph),
            "shape = Shape(a)\ntwice = Mul(shape, two)\ny = Add(twice, two)\nm = ReduceMax(a)\n"
            "z = onward.Elementwise(m, a)\n");
}

TEST(FuseElementwise, ComputesOneElementAgainUnlessOthersReadIt) {
  const Graph graph = Optimize(
      "g (float[n, 4] a, float[1] b, float[1] c) => (float[n, 4] y, float[n, 4] z, float[1] d) {"
      "s = Mul (b, c) y = Mul (a, s) d = Add (b, c) z = Mul (a, d) }",
      FuseElementwise);
  EXPECT_EQ(Nodes(graph), "d = Add(b, c)\nz = Mul(a, d)\ny = onward.Elementwise(b, c, a)\n");
}

TEST(FuseElementwise, HasAsManyInputsAsAKernelTakes) {
  std::string parameters = "float[n] x0", body = "t0 = Neg (x0)";
  for (int i = 1; i <= 20; ++i) {
    const std::string n = std::to_string(i);
    parameters += ", float[n] x" + n;
    body += " t" + n + " = Add (t" + std::to_string(i - 1) + ", x" + n + ")";
  }
  const Graph graph =
      Optimize("g (" + parameters + ") => (float[n] t20) {" + body + "}", FuseElementwise);
  EXPECT_EQ(Nodes(graph),
            "t11 = onward.Elementwise(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11)\n"
            "t20 = onward.Elementwise(t11, x12, x13, x14, x15, x16, x17, x18, x19, x20)\n");
}

}  // namespace
}  // namespace onward
