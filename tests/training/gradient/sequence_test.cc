// Gradients through sequences and optionals against finite differences, and in ONNX Runtime.
#include <gtest/gtest.h>

#include "tests/training/gradient/gradient_checks.h"

namespace onward::training {
namespace {

TEST(SequenceGradient, SplitIntoPartsByConstants) {
  // Sizes that are given; a size that repeats; single elements without their axis.
  CheckGradients(
      "g (double[n,6] x) => (double[n,3] y) <int64[3] sizes = {1, 2, 3}, int64 i0 = {0}, int64 i1 "
      "= {1}, int64 i2 = {-1}> {"
      "s = SplitToSequence<axis = 1>(x, sizes) a = SequenceAt(s, i0) b = SequenceAt(s, i2) "
      "y = Mul(a, b) }",
      {{"x", Doubles({2, 6}, 1)}});
  CheckGradients(
      "g (double[2,5] x) => (double[2,2] y) <int64 size = {2}, int64 i0 = {0}, int64 i1 = {1}, "
      "int64 i2 = {2}> {"
      "s = SplitToSequence<axis = -1>(x, size) a = SequenceAt(s, i0) b = SequenceAt(s, i1) "
      "c = SequenceAt(s, i2) m = Mul(a, b) y = Mul(m, c) }",
      {{"x", Doubles({2, 5}, 1)}});
  CheckGradients(
      "g (double[3,2] x) => (double[2] y) <int64 i0 = {0}, int64 i2 = {2}> {"
      "s = SplitToSequence<axis = 0, keepdims = 0>(x) a = SequenceAt(s, i0) b = SequenceAt(s, i2) "
      "y = Mul(a, b) }",
      {{"x", Doubles({3, 2}, 1)}});
}

TEST(SequenceGradient, ConstantPartsBecomeSplitAndConcat) {
  Model model = ParsedModel(
      "g (double[n,6] x) => (double[n,2] y) <int64[3] sizes = {2, 2, 2}, int64 i0 = {0}, int64 i2 "
      "= {2}> {"
      "s = SplitToSequence<axis = 1>(x, sizes) a = SequenceAt(s, i0) b = SequenceAt(s, i2) "
      "y = Mul(a, b) }");
  const auto names = MakeGradientModel(model, {{"y"}, {"x"}});
  ASSERT_TRUE(names.ok()) << names.status();
  for (const NodeId id : model.graph.node_ids())
    EXPECT_EQ(model.graph.node(id).op_type.find("Sequence"), std::string::npos);
}

TEST(SequenceGradient, PositionsKnownWhenTheGraphRuns) {
  const std::string text =
      "g (double[n,2] x, int64 i, int64 j) => (double[p,2] y) <int64 size = {2}> {"
      "s = SplitToSequence<axis = 0>(x, size) a = SequenceAt(s, i) b = SequenceAt(s, j) "
      "c = Mul(a, b) y = Sin(c) }";
  for (const int64_t j : {0, 1, -1}) {
    CheckGradients(text, {{"x", Doubles({6, 2}, 1)}, {"i", Count(0)}, {"j", Count(j)}});
  }
}

TEST(SequenceGradient, ConstructInsertErase) {
  CheckGradients(
      "g (double[2] x, double[2] w, int64 p) => (double[2] y, double[k,2] all) <int64 one = {1}, "
      "int64 last = {-1}> {"
      "a = Mul(x, w) s = SequenceConstruct(x, a, w) t = SequenceInsert(s, a, p) "
      "u = SequenceInsert(t, x) v = SequenceErase(u, one) z = SequenceErase(v) "
      "y = SequenceAt(z, last) all = ConcatFromSequence<axis = 0, new_axis = 1>(z) }",
      {{"x", Doubles({2}, 1)}, {"w", Doubles({2}, 2)}, {"p", Count(-2)}});
}

TEST(SequenceGradient, ConcatOfPartsOfDifferentSizes) {
  CheckGradients(
      "g (double[2,a] x, double[2,b] w, int64 p) => (double[2,c] y) {"
      "s = SequenceConstruct(x, w) t = SequenceInsert(s, x, p) y = ConcatFromSequence<axis = "
      "-1>(t) }",
      {{"x", Doubles({2, 3}, 1)}, {"w", Doubles({2, 1}, 2)}, {"p", Count(1)}});
}

// A list that a loop fills, and one that it reads.
TEST(SequenceGradient, WithinLoops) {
  CheckGradients(
      "g (double[t,2] x, double[2] w, int64 trips) => (double[t,2] y) {"
      "xs = SplitToSequence<axis = 0, keepdims = 0>(x) empty = SequenceEmpty<dtype = 11>() "
      "h, ys = Loop(trips, , w, empty) <body = b (int64 i, bool c, double[2] s, seq(double[2]) l) "
      "=> (bool c2, double[2] s2, seq(double[2]) l2) {"
      "c2 = Identity(c) e = SequenceAt(xs, i) m = Mul(e, s) s2 = Sin(m) l2 = SequenceInsert(l, s2) "
      "}> y = ConcatFromSequence<axis = 0, new_axis = 1>(ys) }",
      {{"x", Doubles({3, 2}, 1)}, {"w", Doubles({2}, 2)}, {"trips", Count(3)}});
}

// Every iteration reads what the list ends with, and an element before it.
TEST(SequenceGradient, AListThatALoopReadsAndFills) {
  CheckGradients(
      "g (double[2] x, double[2] w, int64 trips) => (double[k,2] y) <int64 last = {-1}, int64 zero "
      "= "
      "{0}> { start = SequenceConstruct(x) "
      "ys = Loop(trips, , start) <body = b (int64 i, bool c, seq(double[2]) l) "
      "=> (bool c2, seq(double[2]) l2) {"
      "c2 = Identity(c) e = SequenceAt(l, last) f = SequenceAt(l, zero) m = Mul(e, w) s = Sin(m) "
      "t = Mul(s, f) l2 = SequenceInsert(l, t) }> "
      "y = ConcatFromSequence<axis = 0, new_axis = 1>(ys) }",
      {{"x", Doubles({2}, 1)}, {"w", Doubles({2}, 2)}, {"trips", Count(4)}});
}

TEST(SequenceGradient, Optionals) {
  CheckGradients(
      "g (double[2] x) => (double[2] y) { a = Sin(x) o = Optional(a) b = OptionalGetElement(o) "
      "y = Mul(b, x) }",
      {{"x", Doubles({2}, 1)}}, /*in_onnxruntime=*/false);
}

TEST(SequenceGradient, MapIsExpanded) {
  CheckGradients(
      "g (double[4,2] x, double[2] w) => (double[4,2] y) <int64 size = {2}> {"
      "s = SplitToSequence<axis = 0>(x, size) "
      "t = SequenceMap<body = b (double[2,2] e) => (double[2,2] f) { m = Mul(e, w) f = Sin(m) "
      "}>(s) "
      "y = ConcatFromSequence<axis = 0>(t) }",
      {{"x", Doubles({4, 2}, 1)}, {"w", Doubles({2}, 2)}}, /*in_onnxruntime=*/false);
}

}  // namespace
}  // namespace onward::training
