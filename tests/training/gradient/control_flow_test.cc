// Gradients through If, Loop and Scan against finite differences and, where it is installed, with
// ONNX Runtime computing the same.
#include <gtest/gtest.h>

#include "tests/training/gradient/gradient_checks.h"

namespace onward::training {
namespace {

TEST(ControlFlowGradient, IfWithCaptures) {
  const std::string text =
      "g (double[n,3] x, double[3] w, double[1] unused, bool c) => (double[n,3] y, double[n,3] z) {"
      "h = Mul(x, w) y, z = If(c) <"
      "then_branch = t () => (double[n,3] a, double[n,3] b) { s = Sin(h) a = Mul(s, w) b = "
      "Identity(h) },"
      "else_branch = e () => (double[n,3] p, double[n,3] q) { p = Exp(x) q = Mul(x, x) }> }";
  for (const bool c : {true, false}) {
    CheckGradients(text, {{"x", Doubles({2, 3}, 1)},
                          {"w", Doubles({3}, 2)},
                          {"unused", Doubles({1}, 3)},
                          {"c", Flag(c)}});
  }
}

TEST(ControlFlowGradient, IfWithinIf) {
  const std::string text =
      "g (double[3] x, double[3] w, bool c, bool d) => (double[3] y) {"
      "y = If(c) <"
      "then_branch = t () => (double[3] a) { s = Sin(x) a = If(d) <"
      "  then_branch = tt () => (double[3] aa) { aa = Mul(s, w) },"
      "  else_branch = te () => (double[3] ae) { ae = Mul(s, s) }> },"
      "else_branch = e () => (double[3] b) { b = Exp(x) }> }";
  for (const bool c : {true, false}) {
    for (const bool d : {true, false}) {
      CheckGradients(
          text, {{"x", Doubles({3}, 1)}, {"w", Doubles({3}, 2)}, {"c", Flag(c)}, {"d", Flag(d)}});
    }
  }
}

// h <- tanh(h w) with h collected; a counter is carried beside it.
TEST(ControlFlowGradient, LoopWithTripCount) {
  const std::string text =
      "g (double[n,3] x, double[3,3] w, int64 trips) => (double[n,3] y, double[k,n,3] all, int64 "
      "m) "
      "<int64 zero = {0}> {"
      "y, m, all = Loop(trips, , x, zero) <body = b (int64 i, bool c, double[n,3] h, int64 count) "
      "=> (bool c2, double[n,3] h2, int64 count2, double[n,3] out) {"
      "c2 = Identity(c) p = MatMul(h, w) h2 = Tanh(p) two = Constant<value = int64 {2}>() "
      "count2 = Add(count, two) f = Cast<to = 11>(count2) out = Mul(h2, f) }> }";
  for (const int64_t trips : {4, 1}) {
    CheckGradients(text,
                   {{"x", Doubles({2, 3}, 1)}, {"w", Doubles({3, 3}, 2)}, {"trips", Count(trips)}});
  }
}

TEST(ControlFlowGradient, LoopWithoutIterations) {
  CheckGradients(
      "g (double[2] x, double[2] w, int64 trips) => (double[2] y, double[k,2] all) {"
      "y, all = Loop(trips, , x) <body = b (int64 i, bool c, double[2] h) => (bool c2, double[2] "
      "h2, double[2] out) { c2 = Identity(c) h2 = Mul(h, w) out = Sin(h) }> }",
      {{"x", Doubles({2}, 1)}, {"w", Doubles({2}, 2)}, {"trips", Count(0)}});
}

TEST(ControlFlowGradient, LoopThatEndsByItsCondition) {
  CheckGradients(
      "g (double x, double r, bool go) => (double y) <int64 many = {50}> {"
      "y = Loop(many, go, x) <body = b (int64 i, bool c, double h) => (bool c2, double h2) {"
      "h2 = Mul(h, r) limit = Constant<value = double {5.0}>() c2 = Less(h2, limit) }> }",
      {{"x", Value(Tensor::Scalar(0.3))}, {"r", Value(Tensor::Scalar(1.4))}, {"go", Flag(true)}});
}

// A state that grows, so that it cannot be stacked.
TEST(ControlFlowGradient, LoopWithAGrowingState) {
  CheckGradients(
      "g (double[n] x, double[1] w, int64 trips) => (double[m] y) {"
      "y = Loop(trips, , x) <body = b (int64 i, bool c, double[p] h) => (bool c2, double[q] h2) {"
      "c2 = Identity(c) s = ReduceSum<keepdims = 1>(h) t = Mul(s, w) u = Sin(h) v = Mul(u, u) "
      "h2 = Concat<axis = 0>(v, t) }> }",
      {{"x", Doubles({2}, 1)}, {"w", Doubles({1}, 2)}, {"trips", Count(3)}});
}

// The body's If reads the state, an inner Loop the outer one's capture.
TEST(ControlFlowGradient, Nested) {
  CheckGradients(
      "g (double[3] x, double[3] w, int64 trips) => (double[3] y) <int64 two = {2}> {"
      "y = Loop(trips, , x) <body = b (int64 i, bool c, double[3] h) => (bool c2, double[3] h2) {"
      "c2 = Identity(c) r = Mod(i, two) one = Constant<value = int64 {1}>() odd = Equal(r, one) "
      "s = If(odd) <"
      "then_branch = t () => (double[3] a) { a = Mul(h, w) },"
      "else_branch = e () => (double[3] q) { q = Sin(h) }> "
      "h2 = Loop(two, , s) <body = bb (int64 j, bool d, double[3] g) => (bool d2, double[3] g2) {"
      "d2 = Identity(d) m = Mul(g, h) g2 = Add(m, w) }> }> }",
      {{"x", Doubles({3}, 1)}, {"w", Doubles({3}, 2)}, {"trips", Count(3)}});
}

TEST(ControlFlowGradient, ScanForward) {
  CheckGradients(
      "g (double[n,2] h0, double[t,n,3] x, double[3,2] w) => (double[n,2] h, double[t,n,2] all) {"
      "h, all = Scan<num_scan_inputs = 1, body = b (double[n,2] s, double[n,3] e) => (double[n,2] "
      "s2, double[n,2] o) { p = MatMul(e, w) q = Add(p, s) s2 = Tanh(q) o = Mul(s2, s) }>(h0, x) }",
      {{"h0", Doubles({2, 2}, 1)}, {"x", Doubles({4, 2, 3}, 2)}, {"w", Doubles({3, 2}, 3)}});
}

// Two scanned inputs along different axes and directions, outputs along others.
TEST(ControlFlowGradient, ScanAxesAndDirections) {
  for (const int in : {0, 1}) {
    for (const int out : {0, 1}) {
      CheckGradients(
          absl::StrCat(
              "g (double[2] s0, double[2,t] x, double[t,2] z) => (double[2] s, double[2,t] a, "
              "double[t,2] b) {"
              "s, a, b = Scan<num_scan_inputs = 2, scan_input_axes = [-1, 0], "
              "scan_input_directions = [",
              in, ", 1], scan_output_axes = [1, 0], scan_output_directions = [", out,
              ", 0], body = f (double[2] s1, double[2] p, double[2] q) => (double[2] s2, "
              "double[2] o, double[2] r) { m = Mul(s1, p) s2 = Add(m, q) o = Sin(s2) r = "
              "Mul(p, q) }>(s0, x, z) }"),
          {{"s0", Doubles({2}, 1)}, {"x", Doubles({2, 3}, 2)}, {"z", Doubles({3, 2}, 3)}});
    }
  }
}

// No state: what is captured alone gets a gradient, and a state that the body does not read.
TEST(ControlFlowGradient, ScanWithoutStates) {
  CheckGradients(
      "g (double[t,2] x, double[2] w) => (double[t,2] y) {"
      "y = Scan<num_scan_inputs = 1, body = f (double[2] e) => (double[2] o) { p = Mul(e, w) o = "
      "Sin(p) }>(x) }",
      {{"x", Doubles({3, 2}, 1)}, {"w", Doubles({2}, 2)}});
}

TEST(ControlFlowGradient, StatesThatTheBodyOverwrites) {
  CheckGradients(
      "g (double[2] x, double[2] w, int64 trips) => (double[2] y, double[2] z) {"
      "y, z = Loop(trips, , x, x) <body = b (int64 i, bool c, double[2] h, double[2] k) => (bool "
      "c2, double[2] h2, double[2] k2) { c2 = Identity(c) h2 = Sin(w) k2 = Identity(h) }> }",
      {{"x", Doubles({2}, 1)}, {"w", Doubles({2}, 2)}, {"trips", Count(1)}});
}

// What a body draws is drawn once: where y = x / kept, the gradient is 1 / kept, else 0.
TEST(ControlFlowGradient, RandomDrawsAreSaved) {
  const std::string dropout =
      "ratio = Constant<value = double {0.5}>() yes = Constant<value = bool {1}>() ";
  for (const std::string& text : std::vector<std::string>{
           "g (double[64] x, bool c) => (double[64] y) { y = If(c) <"
           "then_branch = t () => (double[64] a) { " +
               dropout +
               "a = Dropout(x, ratio, yes) }, else_branch = e () => (double[64] b) { b = Exp(x) }> "
               "}",
           "g (double[64] x, bool c) => (double[64] y) <int64 trips = {2}> { y = Loop(trips, , x) "
           "<body = b (int64 i, bool d, double[64] h) => (bool d2, double[64] h2) {"
           "d2 = Identity(d) " +
               dropout + "h2 = Dropout(h, ratio, yes) }> }",
           "g (double[64] x, bool c) => (double[64] y) { s = Reshape(x, shape) "
           "t = Scan<num_scan_inputs = 1, body = b (double[32] h) => (double[32] h2) {" +
               dropout +
               "h2 = Dropout(h, ratio, yes) }>(s) flat = Constant<value = int64[1] "
               "{-1}>() y = Reshape(t, flat) }"}) {
    std::string model_text = text;
    const size_t at = model_text.find("s = Reshape(x, shape)");
    if (at != std::string::npos)
      model_text.insert(at, "shape = Constant<value = int64[2] {2, 32}>() ");
    Model model = ParsedModel(model_text);
    const auto names = MakeGradientModel(model, {{"y"}, {"x"}});
    ASSERT_TRUE(names.ok()) << names.status();
    Tensor ones(DType::kFloat64, Dims{64});
    std::fill_n(ones.mutable_data<double>(), 64, 1.0);
    const auto outputs =
        RunModel(model, {{"x", Value(ones)}, {"c", Flag(true)}, {"grad/y", Value(ones)}});
    const auto y = outputs.at("y").tensor().span<double>();
    const auto dx = outputs.at("grad/x").tensor().span<double>();
    int dropped = 0;
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(y[i], dx[i]) << i;
      dropped += y[i] == 0;
    }
    EXPECT_GT(dropped, 10);
    EXPECT_LT(dropped, 64);
  }
}

// d2/dx2 through a loop, from its gradient graph's gradient.
TEST(ControlFlowGradient, SecondOrder) {
  for (const std::string& text : std::vector<std::string>{
           "g (double[2] x, double[2] w, int64 trips) => (double[2] y) {"
           "y = Loop(trips, , x) <body = b (int64 i, bool c, double[2] h) => (bool c2, double[2] "
           "h2) "
           "{ c2 = Identity(c) m = Mul(h, w) h2 = Sin(m) }> }",
           "g (double[2] x, double[t,2] w) => (double[2] y) {"
           "y = Scan<num_scan_inputs = 1, body = b (double[2] h, double[2] e) => (double[2] h2) "
           "{ m = Mul(h, e) h2 = Sin(m) }>(x, w) }"}) {
    Model model = ParsedModel(text);
    const bool loop = text.find("Loop") != std::string::npos;
    const auto names = MakeGradientModel(model, {{"y"}, {"x", "w"}});
    ASSERT_TRUE(names.ok()) << names.status();
    Session::Inputs inputs = {{"x", Doubles({2}, 1)},
                              {"w", loop ? Doubles({2}, 2) : Doubles({3, 2}, 2)},
                              {"grad/y", Doubles({2}, 3)}};
    if (loop) inputs["trips"] = Count(3);
    ExpectFiniteDifferences(model, inputs);
  }
}

}  // namespace
}  // namespace onward::training
