#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string After(const std::string& text) { return Nodes(Optimize(text, MergeParallelConvs)); }

// Filters of two channels and two outputs.
constexpr char kSquare[] =
    "float[2,2,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, -6, -7, -8, -9, 2, 4, 6, 8,"
    " 1, 3, 5, 7, 9, -2, -4, -6, -8, -1, -3, -5, -7, -9}, float[2,2,1,1] p = {0.5, -3, 2, 1},"
    " float[2] c = {1, -2}, float[2] s = {1.5, -2}, float[2] b = {0.25, 1},"
    " float[2] m = {0.5, -1}, float[2] v = {0.3, 2}";

std::string OfSquare(const std::string& nodes) {
  return After(absl::StrCat("g (float[N,2,5,4] x) => (float[] y) <", kSquare, "> { ", nodes, " }"));
}

constexpr char kMerged[] = "y = Conv(x, w_merged, y_bias)\n";

TEST(MergeParallelConvs, AFilterOfOneTapInOneOfNine) {
  EXPECT_EQ(OfSquare("l = Conv <pads = [1, 1, 1, 1]> (x, w, c) r = Conv(x, p) y = Add(l, r)"),
            kMerged);
  EXPECT_EQ(OfSquare("l = Conv <pads = [1, 1, 1, 1]> (x, w) r = Conv(x, p, c) y = Add(r, l)"),
            kMerged);
}

TEST(MergeParallelConvs, FiltersOfOneSize) {
  EXPECT_EQ(OfSquare("l = Conv(x, p, c) r = Conv(x, p) y = Add(l, r)"),
            "y = Conv(x, p_merged, y_bias)\n");
  EXPECT_EQ(OfSquare("l = Conv <strides = [2, 1]> (x, w, c) r = Conv <strides = [2, 1]> (x, w)"
                     " y = Add(l, r)"),
            "y = Conv(x, w_merged, y_bias)\n");
}

TEST(MergeParallelConvs, ANormalizationOfTheImage) {
  EXPECT_EQ(OfSquare("l = BatchNormalization(x, s, b, m, v) r = Conv(x, p) y = Add(l, r)"),
            "y = Conv(x, p_merged, y_bias)\n");
  EXPECT_EQ(OfSquare("l = Conv <pads = [1, 1, 1, 1]> (x, w, c)"
                     " r = BatchNormalization(x, s, b, m, v) y = Add(l, r)"),
            kMerged);
  EXPECT_EQ(OfSquare("l = Conv <pads = [1, 1, 1, 1]> (x, w) r = Conv(x, p) t = Add(l, r)"
                     " i = BatchNormalization(x, s, b, m, v) y = Add(i, t)"),
            "y = Conv(x, w_merged_merged, y_bias)\n");
}

TEST(MergeParallelConvs, OfGroupsAndOneAxis) {
  EXPECT_EQ(After("g (float[N,4,6] x) => (float[] y) <float[4,2,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9,"
                  " -1, -2, -3, -4, -5, -6, -7, -8, -9, 2, 4, 6, 8, 1, 3},"
                  " float[4,2,2] p = {0.5, -3, 2, 1, 4, -1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8},"
                  " float[4] s = {1.5, -2, 3, 1}, float[4] b = {0.25, 1, 2, 3},"
                  " float[4] m = {0.5, -1, 0, 1}, float[4] v = {0.3, 2, 1, 3}> {"
                  " l = Conv <group = 2, pads = [1, 1]> (x, w)"
                  " r = Conv <group = 2, pads = [0, 1]> (x, p) t = Add(l, r)"
                  " i = BatchNormalization(x, s, b, m, v) y = Add(t, i) }"),
            "y = Conv(x, w_merged_merged, y_bias)\n");
}

TEST(MergeParallelConvs, NotWhereTheyDiffer) {
  for (const char* right :
       {"Conv <strides = [2, 2], pads = [1, 1, 2, 1]> (x, w)",  // of other pixels
        "Conv <pads = [1, 1, 1, 1]> (z, w)",                    // of another image
        "Conv <dilations = [2, 2], pads = [2, 2, 2, 2]> (x, w)",
        "Conv <auto_pad = \"SAME_UPPER\"> (x, w)", "Conv <pads = [1, 1, 1, 1]> (x, f)",
        "BatchNormalization(z, s, b, m, v)"}) {
    const std::string nodes = After(absl::StrCat(
        "g (float[N,2,5,5] x, float[N,2,5,5] z, float[2,2,3,3] f) => (float[] y) <", kSquare,
        "> { l = Conv <pads = [1, 1, 1, 1]> (x, w) r = ", right,
        std::string_view(right).find("strides") != std::string_view::npos
            ? " k = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) y = Add(k, r) }"
            : " y = Add(l, r) }"));
    EXPECT_EQ(nodes.find("merged"), std::string::npos) << nodes;
  }
}

TEST(MergeParallelConvs, NotWhereAnotherNodeReadsOne) {
  const std::string nodes =
      OfSquare("l = Conv(x, p, c) r = Conv(x, p) t = Add(l, r) y = Mul(t, r)");
  EXPECT_EQ(nodes.find("merged"), std::string::npos) << nodes;
}

}  // namespace
}  // namespace onward
