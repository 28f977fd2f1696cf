// Which models' rows can be computed together.
#include "graph/infer/independent_rows.h"

#include <cstdlib>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

// Zeros for the initializers of `text` that have no values.
std::string Filled(const std::string& text) {
  static const std::regex weight("float\\[([0-9, ]+)\\] [a-z]+(?=[,>])");
  std::string filled;
  size_t end = 0;
  const size_t begin = text.find("=> ");
  for (std::sregex_iterator it(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(),
                               weight);
       it != std::sregex_iterator(); ++it) {
    const size_t at = begin + static_cast<size_t>(it->position() + it->length());
    int64_t count = 1;
    for (const absl::string_view dim : absl::StrSplit((*it)[1].str(), ", "))
      count *= std::atoll(std::string(dim).c_str());
    absl::StrAppend(&filled, text.substr(end, at - end), " = {0");
    for (int64_t i = 1; i < count; ++i) filled += ",0";
    filled += "}";
    end = at;
  }
  return filled + text.substr(end);
}

absl::Status Check(const std::string& text) {
  const auto model = testing::ModelFromText(Filled(text));
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? CheckRowsAreIndependent(model->graph) : model.status();
}

void ExpectIndependent(const std::string& text) {
  const absl::Status status = Check(text);
  EXPECT_TRUE(status.ok()) << text << "\n" << status;
}

void ExpectDependent(const std::string& text, const std::string& why) {
  const absl::Status status = Check(text);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << text << "\n" << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why)) << text;
}

TEST(IndependentRows, SlicesThatKeepAllRows) {
  const auto sliced = [](const char* start, const char* end, const char* step, const char* rows) {
    return absl::StrCat("g (float[n, 8] x) => (float[", rows, ", 7] y) <int64[2] s = {", start,
                        ", 1}, int64[2] e = {", end,
                        ", 2147483647}, int64[2] a = {0, 1}, int64[2] t = {", step,
                        ", 1}> { y = Slice(x, s, e, a, t) }");
  };
  ExpectIndependent(sliced("0", "2147483647", "1", "n"));
  ExpectIndependent(
      "g (float[n, 8] x) => (float[n, 7] y) <int64[2] s = {0, 1}, int64[2] e = {2147483647, 8}>"
      "{ y = Slice(x, s, e) }");
  for (const auto& text :
       {sliced("1", "2147483647", "1", "m"), sliced("0", "2", "1", "m"),
        sliced("0", "2147483647", "2", "m"), sliced("-1", "-2147483648", "-1", "n")})
    ExpectDependent(text, "rows may influence each other in [Slice");
}

TEST(IndependentRows, Layers) {
  ExpectIndependent(
      "g (float[n, 8] x) => (float[n, 4] y) <float[8, 4] w, float[4] b>"
      "{ h = MatMul(x, w) a = Add(h, b) y = Relu(a) }");
  ExpectIndependent(
      "g (float[n, 8] x) => (float[n, 4] y) <float[4, 8] w, float[4] b>"
      "{ h = Gemm <transB = 1> (x, w, b) y = Softmax <axis = 1> (h) }");
  ExpectIndependent(
      "g (float[n, 3, 8, 8] x) => (float[n, 10] y) <float[4, 3, 3, 3] k, float[4, 10] w>"
      "{ c = Conv(x, k) p = GlobalAveragePool(c) f = Flatten <axis = 1> (p) y = MatMul(f, w) }");
  ExpectIndependent(
      "g (float[n, 2] x, float[n, 2] z) => (float[n, 4] y, int64[n] best)"
      "{ y = Concat <axis = -1> (x, z) best = ArgMax <axis = 1, keepdims = 0> (y) }");
  ExpectIndependent(
      "g (int64[n, t] ids) => (float[n, 6] y) <float[30, 6] table, int64[1] axes = {1}>"
      "{ e = Gather <axis = 0> (table, ids) y = ReduceMean <keepdims = 0> (e, axes) }");
}

// Heads of attention: rows move to other axes and are merged with them.
TEST(IndependentRows, FollowReshapesAndTransposes) {
  ExpectIndependent(
      "g (float[n, t, 8] x) => (float[n, t, 8] y) <int64[2] flat = {-1, 8}, float[8, 8] w>"
      "{ s = Shape(x) f = Reshape(x, flat) m = MatMul(f, w) y = Reshape(m, s) }");
  ExpectIndependent(
      "g (float[n, t, 8] x) => (float[n, t, 8] y)"
      "<int64[4] split = {0, 0, 2, 4}, int64[3] join = {0, 0, 8}>"
      "{ r = Reshape(x, split) q = Transpose <perm = [0, 2, 1, 3]> (r)"
      "  k = Transpose <perm = [0, 2, 3, 1]> (r) a = MatMul(q, k) p = Softmax <axis = -1> (a)"
      "  c = MatMul(p, q) b = Transpose <perm = [0, 2, 1, 3]> (c) y = Reshape(b, join) }");
  ExpectIndependent(
      "g (float[n, t, 3] x) => (float[n, 5] y)"
      "<float[1, 20, 3] w, float[1, 20, 5] r, int64[1] first = {0}>"
      "{ s = Transpose <perm = [1, 0, 2]> (x) all, last = LSTM <hidden_size = 5> (s, w, r)"
      "  y = Squeeze(last, first) }");
}

// Masks of attention as transformers has exported: each row looks its own part up by its number.
TEST(IndependentRows, LookUpsByTheRowsOwnNumber) {
  const auto masks = [](const std::string& first, const std::string& output) {
    return absl::StrCat(
        "g (int64[n, t] mask) => (", output,
        " y) <int64 zero = {0}, int64 one = {1}, int64[1] middle = {1}, int64[1] front = {0},"
        " int64[1] back = {-1}>"
        "{ s = Shape(mask) n = Gather(s, zero) t = Gather(s, one)"
        "  rows = Range(zero, n, one) columns = Range(zero, t, one)"
        "  b = Unsqueeze(rows, middle) k = Unsqueeze(columns, front) both = Max(b, k)"
        "  shape = Shape(both) be = Expand(b, shape) ke = Expand(k, shape)"
        "  bu = Unsqueeze(be, back) ku = Unsqueeze(ke, back)"
        "  index = Concat <axis = -1> (",
        first, ") y = GatherND(mask, index) }");
  };
  ExpectIndependent(masks("bu, ku", "int64[n, t]"));
  ExpectDependent(masks("ku, bu", "int64[n, t]"), "[Concat");
  // The number of a row has no other use.
  ExpectDependent(
      "g (int64[n] x) => (int64[n] y) <int64 zero = {0}, int64 one = {1}>"
      "{ s = Shape(x) n = Squeeze(s) r = Range(zero, n, one) y = Add(x, r) }",
      "[Add");
}

TEST(IndependentRows, ImagesAndSignals) {
  ExpectIndependent(
      "g (float[n, 2, 5, 5] x, float[n, 4, 3, 2] at) => (float[n, 2, 4, 3] y)"
      "{ y = GridSample(x, at) }");
  ExpectIndependent(
      "g (float[n, 2, 3] theta, float[n, 2, 5, 5] x) => (float[n, 2, 5, 5] y)"
      "{ s = Shape(x) at = AffineGrid(theta, s) y = GridSample(x, at) }");
  ExpectIndependent(
      "g (float[n, 2, 5, 5] x, float[n, 2, 5, 5] o, float[n, 1, 5, 5] m) => (float[n, 3, 5, 5] y)"
      "<float[3, 2, 1, 1] w, float[3] b> { y = DeformConv(x, w, o, b, m) }");
  ExpectIndependent(
      "g (float[n, 8, 2] x) => (float[n, 8, 2] y) <int64 none = {8}, int64 axis = {-2}>"
      "{ y = DFT(x, none, axis) }");
  ExpectDependent(
      "g (float[n, 8, 2] x) => (float[n, 8, 2] y) <int64 axis = {0}> { y = DFT(x, , axis) }",
      "[DFT");
  ExpectIndependent("g (float[n, 4, 3, 3] x) => (float[n, 4] y) { y = Det(x) }");
  ExpectDependent("g (float[n, 3] x, float[n, 3] z) => (float y) { y = Det(x) }", "[Det");
}

TEST(IndependentRows, FollowEquations) {
  const auto einsum = [](const char* equation, const char* second, const char* y) {
    return absl::StrCat("g (float[n, 4, 8] x, float[", second, "] z) => (float[", y,
                        "] y) { y = Einsum <equation = \"", equation, "\"> (x, z) }");
  };
  ExpectIndependent(einsum("bqd,bkd->bqk", "n, 5, 8", "n, 4, 5"));
  ExpectIndependent(einsum("...qd,...kd", "n, 5, 8", "n, 4, 5"));
  ExpectDependent(einsum("bqd,ckd->bqk", "n, 5, 8", "n, 4, 5"), "[Einsum");  // sums over all rows
  ExpectDependent(einsum("bqd,bkd->qk", "n, 5, 8", "4, 5"), "[Einsum");
  ExpectDependent(einsum("bqd,bkd->qbk", "n, 5, 8", "4, n, 5"), "output 'y'");
  ExpectIndependent(
      "g (float[n, 4] x) => (float[n, 3] y) <float[4, 3] w>"
      "{ y = Einsum <equation = \"bi,ij->bj\"> (x, w) }");
  ExpectIndependent(
      "g (float[n, 4] x) => (float[n, 4] y) <float[1, 4] w>"
      "{ y = Einsum <equation = \"bi,bi->bi\"> (x, w) }");
  ExpectDependent("g (float[n, n] x) => (float[n] y) { y = Einsum <equation = \"bb->b\"> (x) }",
                  "[Einsum");
  // The number of rows is in the result.
  ExpectDependent(
      "g (float[n, 4] x) => (float[n, 4] y) { s = Shape <start = 0, end = 1> (x)"
      "f = Cast <to = 1> (s) y = Einsum <equation = \"bi,j->bi\"> (x, f) }",
      "[Einsum");
}

TEST(IndependentRows, SequencesAndTheirStates) {
  ExpectIndependent(
      "g (float[n, 4, 6] q, float[n, 4, 6] k, float[n, 4, 6] v, float[n, 2, 3, 3] s)"
      "=> (float[n, 4, 6] y, float[n, 2, 3, 3] t)"
      "{ y, t = LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\">"
      "(q, k, v, s) }");
  ExpectIndependent(
      "g (float[n, 3, 5] x, float[n, 3, 2] s) => (float[n, 3, 5] y, float[n, 3, 2] t)"
      "<float[3, 1, 3] w, float[3] b> { y, t = CausalConvWithState(x, w, b, s) }");
  const auto reversed = [](const char* axes) {
    return absl::StrCat("g (float[n, 4] x, int64[n] l) => (float[n, 4] y) { y = ReverseSequence <",
                        axes, "> (x, l) }");
  };
  ExpectIndependent(reversed("batch_axis = 0, time_axis = 1"));
  ExpectDependent(
      "g (float[n, 4] x) => (float[n, 4] y) <int64[4] l = {1, 1, 1, 1}>"
      "{ y = ReverseSequence(x, l) }",
      "[ReverseSequence");
}

TEST(IndependentRows, MarksOfClasses) {
  const auto marks = [](int axis, const char* y) {
    return absl::StrCat("g (int64[n, 4] x) => (float[", y,
                        "] y) <int64 depth = {3}, float[2] v>"
                        "{ y = OneHot <axis = ",
                        axis, "> (x, depth, v) }");
  };
  ExpectIndependent(marks(-1, "n, 4, 3"));
  ExpectIndependent(marks(1, "n, 3, 4"));
  ExpectDependent(marks(0, "3, n, 4"), "output 'y'");
}

TEST(IndependentRows, CopiesOfOtherAxes) {
  ExpectIndependent(
      "g (float[n, 2] x) => (float[n, 6] y) <int64[2] times = {1, 3}> { y = Tile(x, times) }");
  ExpectDependent(
      "g (float[n, 2] x) => (float[m, 2] y) <int64[2] times = {2, 1}> { y = Tile(x, times) }",
      "[Tile");
}

// What no output needs may be mixed.
TEST(IndependentRows, MixedValuesCountWhereTheyAreUsed) {
  ExpectIndependent(
      "g (float[n, 2] x) => (float[n, 2] y) <int64[1] axes = {0}>"
      "{ m = ReduceMax <keepdims = 0> (x, axes) s = Shape(m) e = Expand(x, s) y = Relu(e) }");
}

TEST(IndependentRows, WhatMixesRowsIsNamed) {
  ExpectDependent("g (float[n, 2] x) => (float[n, 2] y) { y = Softmax <axis = 0> (x) }",
                  "[Softmax");
  ExpectDependent(
      "g (float[n, 2] x) => (float[n, 2] y) <int64[1] axes = {0}>"
      "{ m = ReduceMean(x, axes) y = Sub(x, m) }",
      "[ReduceMean");
  ExpectDependent("g (float[n, 2] x) => (float[n, n] y) { t = Transpose(x) y = MatMul(x, t) }",
                  "[MatMul");
  ExpectDependent("g (float[n, 2] x) => (float[n, 2] y) <int64 axis = {0}> { y = CumSum(x, axis) }",
                  "[CumSum");
  // The number of rows is in the result.
  ExpectDependent(
      "g (float[n, 2] x) => (float[n, 2] y)"
      "{ s = Shape <start = 0, end = 1> (x) f = Cast <to = 1> (s) y = Div(x, f) }",
      "[Div");
  ExpectDependent("g (float[n, 2] x) => (uint8[n, 2] y) { y, s, z = DynamicQuantizeLinear(x) }",
                  "[DynamicQuantizeLinear");
  ExpectDependent("g (float[n, 2] x) => (float[n, 2] y) { r = RandomNormalLike(x) y = Add(x, r) }",
                  "draws by a row's place");
  ExpectDependent(
      "g (float[n, 2] x) => (float[n, 2] y) <float[2] s, float[2] b, float[2] m, float[2] v>"
      "{ y, a, c = BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
      "[BatchNormalization");
}

TEST(IndependentRows, InterfacesWithoutABatch) {
  ExpectDependent("g (float[1, 2] x) => (float[1, 2] y) { y = Relu(x) }",
                  "input 'x' has no first dim that varies");
  ExpectDependent("g (float[n, 2] x, float[m, 2] z) => (float[n, 2] y) { y = Relu(x) }",
                  "the first dims of the inputs differ: n and m");
  ExpectDependent(
      "g (float[n, 2] x) => (float y) <int64[2] axes = {0, 1}>"
      "{ y = ReduceSum <keepdims = 0> (x, axes) }",
      "[ReduceSum");
  ExpectDependent("g (float[n, 2] x) => (float[2, n] y) { y = Transpose(x) }", "output 'y'");
}

}  // namespace
}  // namespace onward
