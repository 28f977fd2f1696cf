// The arithmetic and the bytes that no kernel can do without.
#include "graph/infer/least_cost.h"

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "gtest/gtest.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

LeastCost CostOfText(const std::string& text, bool minimal_filtering = false) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(InferGraph(model->graph).ok());
  return LeastCostOf(model->graph, {}, minimal_filtering);
}

// By hand: pairs of an output and a tap along an axis that have an input.
int64_t PairsOfAxis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                    int64_t before) {
  int64_t pairs = 0;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t at = o * stride + k * dilation - before;
      pairs += at >= 0 && at < in;
    }
  return pairs;
}

TEST(LeastCost, PaddingIsNotMultiplied) {
  for (const int64_t in : {1, 7, 20})
    for (const int64_t kernel : {1, 3, 5})
      for (const int64_t stride : {1, 2, 3})
        for (const int64_t dilation : {1, 2})
          for (const int64_t pad : {0, 1, 4}) {
            const int64_t out = (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
            if (in + 2 * pad < (kernel - 1) * dilation + 1) continue;
            const std::string text = absl::StrCat(
                "g (float[2,3,", in, ",9] x, float[4,3,", kernel, ",1] w) => (float[2,4,o,9] y) {",
                "y = Conv <strides = [", stride, ",1], dilations = [", dilation, ",1], pads = [",
                pad, ",0,", pad, ",0]> (x, w) }");
            SCOPED_TRACE(text);
            const double flops = CostOfText(text).flops[DType::kFloat32];
            EXPECT_NEAR(
                flops,
                2.0 * 2 * 4 * 3 * 9 *
                    static_cast<double>(PairsOfAxis(in, out, kernel, stride, dilation, pad)),
                1e-6 * flops);
          }
}

TEST(LeastCost, MinimalFilteringTakesAQuarterOf3x3Taps) {
  const auto cost = [](const std::string& attributes, const std::string& kernel) {
    return CostOfText(
               absl::StrCat("g (float[1,2,9,9] x, float[2,2,", kernel,
                            "] w) => (float[1,2,o,p] y) { y = Conv <", attributes, "> (x, w) }"),
               true)
        .flops[DType::kFloat32];
  };
  EXPECT_EQ(cost("strides = [1,1]", "3,3"), 2 * 2 * 2 * 7 * 7 * 9 / 4.0);
  EXPECT_EQ(cost("strides = [2,1]", "3,3"), 2 * 2 * 2 * 4 * 7 * 9);
  EXPECT_EQ(cost("strides = [1,1]", "3,2"), 2 * 2 * 2 * 7 * 8 * 6);
  EXPECT_EQ(cost("dilations = [1,2]", "3,3"), 2 * 2 * 2 * 7 * 5 * 9);
}

TEST(LeastCost, ArithmeticByDataType) {
  LeastCost cost = CostOfText(
      "g (float[5,7] a, float[7,11] b, uint8[5,7] c, uint8[7,11] d, double[2,3] e, double[3,2] f)"
      " => (float[5,11] x, int32[5,11] y, double[2,2] z) {"
      " x = MatMul (a, b) y = MatMulInteger (c, d) z = MatMul (e, f) }");
  EXPECT_EQ(cost.flops[DType::kFloat32], 2 * 5 * 7 * 11);
  EXPECT_EQ(cost.flops[DType::kUint8], 2 * 5 * 7 * 11);
  EXPECT_EQ(cost.flops[DType::kFloat64], 2 * 2 * 3 * 2);
  EXPECT_EQ(cost.read_bytes, 4 * (35 + 77) + 35 + 77 + 8 * 12);
  EXPECT_EQ(cost.written_bytes, 4 * 55 + 4 * 55 + 8 * 4);
}

TEST(LeastCost, WhatIsNotReadDoesNotCount) {
  EXPECT_EQ(CostOfText("g (float[1000,8] table, int64[4] rows) => (float[4,8] y)"
                       "{ y = Gather (table, rows) }")
                .read_bytes,
            4 * 8 * 4 + 4 * 8);
  EXPECT_EQ(CostOfText("g (float[1000,8] x) => (int64[2] y) { y = Shape (x) }").read_bytes, 0);
  EXPECT_EQ(CostOfText("g (float[1000,8] x) => (float[1000,8] y) { y = Relu (x) }").read_bytes,
            32000);
}

}  // namespace
}  // namespace onward
