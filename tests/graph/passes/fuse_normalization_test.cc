#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string LastNode(const Graph& graph) {
  std::string nodes = Nodes(graph);
  nodes.pop_back();
  return nodes.substr(nodes.rfind('\n') + 1);
}

constexpr char kConstants[] =
    "int64[1] ax = {-1}, float two = {2}, float e = {0.00001},"
    "float[4] g = {1, 2, 0.5, -1}, float[4] b = {0, 1, 2, 3}";

std::string Standard(const std::string& square, const std::string& divide) {
  return std::string("m (float[B,S,4] x) => (float[B,S,4] y) <") + kConstants +
         "> { m = ReduceMean(x, ax) d = Sub(x, m) p = " + square +
         "v = ReduceMean(p, ax) w = Add(v, e) s = Sqrt(w) " + divide +
         "z = Mul(n, g) y = Add(z, b) }";
}

TEST(FuseNormalization, LayerNormalizationInTheFormsOfExporters) {
  for (const char* square : {"Pow(d, two) ", "Mul(d, d) "}) {
    for (const char* divide : {"n = Div(d, s) ", "r = Reciprocal(s) n = Mul(r, d) "}) {
      const Graph graph = Optimize(Standard(square, divide), FuseNormalization);
      EXPECT_EQ(Nodes(graph), "y = LayerNormalization(x, g, b)\n");
    }
  }
}

TEST(FuseNormalization, WithoutParameters) {
  const Graph graph =
      Optimize(std::string("m (float[B,S,4] x) => (float[B,S,4] y) <") + kConstants +
                   "> { m = ReduceMean(x, ax) d = Sub(x, m) p = Mul(d, d) v = ReduceMean(p, ax)"
                   "w = Add(v, e) s = Sqrt(w) y = Div(d, s) }",
               FuseNormalization);
  EXPECT_EQ(LastNode(graph), "y = LayerNormalization(x, y_const)");
}

TEST(FuseNormalization, RootMeanSquare) {
  for (const char* divide :
       {"n = Div(x, s) ", "r = Reciprocal(s) n = Mul(x, r) ", "r = Div(o, s) n = Mul(r, x) "}) {
    const Graph graph = Optimize(
        std::string("m (float[B,S,4] x) => (float[B,S,4] y) <float o = {1},") + kConstants +
            "> { p = Pow(x, two) v = ReduceMean(p, ax) w = Add(v, e) s = Sqrt(w) " + divide +
            "y = Mul(g, n) }",
        FuseNormalization);
    EXPECT_EQ(Nodes(graph), "y = RMSNormalization(x, g)\n");
  }
}

TEST(FuseNormalization, HalfPrecisionAroundFloat32) {
  const Graph graph =
      Optimize(std::string("m (float16[B,4] h, float16[4] k) => (float16[B,4] y) <") + kConstants +
                   "> { x = Cast <to = 1> (h) p = Pow(x, two) v = ReduceMean(p, ax) w = Add(v, e)"
                   "s = Sqrt(w) n = Div(x, s) c = Cast <to = 10> (n) y = Mul(k, c) }",
               FuseNormalization, 2e-3);
  EXPECT_EQ(Nodes(graph), "y = RMSNormalization(h, k)\n");
}

TEST(FuseNormalization, LeavesOtherAxesAndOtherNumerators) {
  const char* first_axis =
      "m (float[2,4] x) => (float[2,4] y) <int64[1] ax = {0}, float e = {0.1}> {"
      "p = Mul(x, x) v = ReduceMean(p, ax) w = Add(v, e) s = Sqrt(w) y = Div(x, s) }";
  EXPECT_EQ(LastNode(Optimize(first_axis, FuseNormalization)), "y = Div(x, s)");
  const char* other =
      "m (float[2,4] x, float[2,4] z) => (float[2,4] y) <int64[1] ax = {1}, float e = {0.1}> {"
      "p = Mul(x, x) v = ReduceMean(p, ax) w = Add(v, e) s = Sqrt(w) y = Div(z, s) }";
  EXPECT_EQ(LastNode(Optimize(other, FuseNormalization)), "y = Div(z, s)");
  const char* doubles =
      "m (double[2,4] x) => (double[2,4] y) <int64[1] ax = {1}, double e = {0.1}> {"
      "p = Mul(x, x) v = ReduceMean(p, ax) w = Add(v, e) s = Sqrt(w) y = Div(x, s) }";
  EXPECT_EQ(LastNode(Optimize(doubles, FuseNormalization)), "y = Div(x, s)");
}

}  // namespace
}  // namespace onward
