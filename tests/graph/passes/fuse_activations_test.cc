#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string Activations(const std::string& body,
                        const std::string& constants = "float unused = {0}") {
  return Nodes(Optimize("g (float[N,4] x) => (float[N,4] y) <" + constants + "> {" + body + "}",
                        FuseActivations));
}

std::string Gelu(const std::string& body) {
  return Nodes(Optimize(
      "g (float[N,4] x) => (float[N,4] y) <float h = {0.5}, float o = {1}, float r = {1.4142135},"
      "float i = {0.70710678}, float t = {3}, float k = {0.044715}, float q = {0.79788456}> {" +
          body + "}",
      FuseGelu));
}

TEST(FuseGelu, OrdersOfMultiplication) {
  const std::string gate = "a = Div(x, r) b = Erf(a) c = Add(b, o) ";
  for (const char* body : {"d = Mul(x, c) y = Mul(d, h)", "d = Mul(x, h) y = Mul(d, c)",
                           "d = Mul(h, c) y = Mul(x, d)", "d = Mul(c, x) y = Mul(h, d)"}) {
    EXPECT_EQ(Gelu(gate + body), "y = Gelu(x)\n") << body;
  }
  EXPECT_EQ(Gelu("a = Mul(x, i) b = Erf(a) c = Add(o, b) d = Mul(x, c) y = Mul(d, h)"),
            "y = Gelu(x)\n");
}

TEST(FuseGelu, TanhForms) {
  const std::string tail = "f = Tanh(e) c = Add(f, o) d = Mul(x, h) y = Mul(d, c)";
  EXPECT_EQ(Gelu("a = Pow(x, t) b = Mul(a, k) s = Add(x, b) e = Mul(s, q) " + tail),
            "y = Gelu(x)\n");
  EXPECT_EQ(Gelu("w = Mul(x, x) a = Mul(w, x) b = Mul(k, a) s = Add(b, x) e = Mul(q, s) " + tail),
            "y = Gelu(x)\n");
  EXPECT_EQ(Gelu("w = Mul(x, k) a = Mul(w, x) b = Add(a, o) s = Mul(x, q) e = Mul(s, b) " + tail),
            "y = Gelu(x)\n");
}

// As JAX writes it, and others that multiply in another order.
TEST(FuseGelu, AnyOrderOfPowersAndHalves) {
  const std::string tail = "f = Tanh(e) c = Add(o, f) ";
  EXPECT_EQ(Gelu("u = Mul(k, x) v = Mul(x, u) w = Mul(x, v) s = Add(x, w) e = Mul(q, s)" + tail +
                 "d = Mul(h, c) y = Mul(x, d)"),
            "y = Gelu(x)\n");
  EXPECT_EQ(Gelu("u = Mul(x, x) v = Mul(u, k) w = Add(v, o) z = Mul(w, q) e = Mul(x, z)" + tail +
                 "d = Mul(x, c) y = Mul(h, d)"),
            "y = Gelu(x)\n");
  EXPECT_EQ(Gelu("a = Mul(i, x) b = Erf(a) g = Mul(b, h) c = Add(g, h) y = Mul(c, x)"),
            "y = Gelu(x)\n");
}

TEST(FuseGelu, AnotherScaleIsNoGelu) {
  EXPECT_EQ(Gelu("a = Mul(x, q) b = Erf(a) c = Add(o, b) d = Mul(x, c) y = Mul(d, h)"),
            "a = Mul(x, q)\nb = Erf(a)\nc = Add(o, b)\nd = Mul(x, c)\ny = Mul(d, h)\n");
}

TEST(FuseActivations, Gated) {
  EXPECT_EQ(Activations("a = Sigmoid(x) y = Mul(x, a)"), "y = Swish(x)\n");
  EXPECT_EQ(Activations("b = Mul(x, k) a = Sigmoid(b) y = Mul(a, x)", "float k = {1.702}"),
            "y = Swish(x)\n");
  EXPECT_EQ(Activations("a = HardSigmoid <alpha = 0.16666667> (x) y = Mul(a, x)"),
            "y = HardSwish(x)\n");
  EXPECT_EQ(Activations("a = HardSigmoid(x) y = Mul(a, x)"), "a = HardSigmoid(x)\ny = Mul(a, x)\n");
  EXPECT_EQ(
      Activations("e = Exp(x) p = Add(e, o) s = Log(p) a = Tanh(s) y = Mul(x, a)", "float o = {1}"),
      "y = Mish(x)\n");
}

TEST(FuseActivations, HardFormsOfRelu6) {
  const std::string constants = "float t = {3}, float z = {0}, float s = {6}";
  EXPECT_EQ(Activations("a = Add(x, t) c = Clip(a, z, s) m = Mul(x, c) y = Div(m, s)", constants),
            "y = HardSwish(x)\n");
  EXPECT_EQ(Activations("a = Add(x, t) c = Clip(a, z, s) y = Div(c, s)", constants),
            "y = HardSigmoid(x)\n");
  EXPECT_EQ(Activations("a = Add(x, t) c = Clip(a, z, s) d = Div(c, s) y = Mul(d, x)", constants),
            "y = HardSwish(x)\n");
}

// Attributes are float32, which is less than these doubles have.
TEST(FuseActivations, FactorsOfDoublesStay) {
  const auto activations = [](const std::string& body) {
    return Nodes(
        Optimize("g (double[N,4] x) => (double[N,4] y) <double k = {1.702}, double h = {1.5},"
                 "double t = {3}, double z = {0}, double s = {6}> {" +
                     body + "}",
                 FuseActivations, 1e-14));
  };
  EXPECT_EQ(activations("b = Mul(x, h) a = Sigmoid(b) y = Mul(a, x)"), "y = Swish(x)\n");
  EXPECT_EQ(activations("b = Mul(x, k) a = Sigmoid(b) y = Mul(a, x)"),
            "b = Mul(x, k)\na = Sigmoid(b)\ny = Mul(a, x)\n");
  EXPECT_EQ(activations("a = Add(x, t) c = Clip(a, z, s) y = Div(c, s)"),
            "a = Add(x, t)\nc = Clip(a, z, s)\ny = Div(c, s)\n");
}

TEST(FuseActivations, ClipFromBounds) {
  const std::string constants = "float[1] l = {-1}, float h = {0.5}";
  EXPECT_EQ(Activations("a = Max(x, l) y = Min(h, a)", constants),
            "y = Clip(x, y_const, y_const_1)\n");
  EXPECT_EQ(Activations("a = Min(x, h) y = Max(l, a)", constants),
            "y = Clip(x, y_const, y_const_1)\n");
  // Crossed bounds: the order matters.
  EXPECT_EQ(Activations("a = Min(x, l) y = Max(h, a)", constants),
            "a = Min(x, l)\ny = Max(h, a)\n");
}

}  // namespace
}  // namespace onward
