#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string Fuse(const std::string& text) { return Nodes(Optimize(text, FuseQuantized)); }

TEST(FuseQuantized, DynamicProductTakesScalesAndBias) {
  EXPECT_EQ(Fuse("g (float[2,3] x) => (float[2,2] y) <int8[3,2] w = {1, -2, 3, 4, 5, -6}, "
                 "float ws = {0.5}, int8 wz = {1}, float[2] b = {1, 2}> {"
                 "q, s, z = DynamicQuantizeLinear(x) m = MatMulInteger(q, w, z, wz) "
                 "c = Cast <to = 1> (m) t = Mul(s, ws) p = Mul(c, t) y = Add(b, p)}"),
            "q, s, z = DynamicQuantizeLinear(x)\n"
            "y = com.microsoft.MatMulIntegerToFloat(q, w, s, ws, z, wz, b)\n");
}

TEST(FuseQuantized, ProductOfTensorsAndScalesPerColumn) {
  EXPECT_EQ(Fuse("g (uint8[2,3] q, int8[3,2] w, float s) => (float[2,2] y) "
                 "<float[2] ws = {0.5, 2}> {m = MatMulInteger(q, w) c = Cast <to = 1> (m) "
                 "t = Mul(ws, s) y = Mul(t, c)}"),
            "y = com.microsoft.MatMulIntegerToFloat(q, w, s, ws, _, _)\n");
}

constexpr char kConv[] =
    "<int8[2,1,1,1] w = {3, -4}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}, float s = {0.5}, "
    "uint8 z = {7}, int32[2] b = {10, -20}, float[2] bs = {0.25, 0.125}, float[2] other = {1, 1}, "
    "float t = {0.25}, uint8 u = {9}> {f = DequantizeLinear(x, s, z) "
    "v = DequantizeLinear <axis = 0> (w, ws, wz) ";

TEST(FuseQuantized, ConvolutionBetweenLinears) {
  const std::string text = std::string("g (uint8[1,1,2,2] x) => (uint8[1,2,2,2] y) ") + kConv;
  EXPECT_EQ(Fuse(text + "c = DequantizeLinear <axis = 0> (b, bs) a = Conv(f, v, c) "
                        "y = QuantizeLinear(a, t, u)}"),
            "y = QLinearConv(x, s, z, w, ws, wz, t, u, b)\n");
  EXPECT_EQ(Fuse(text + "a = Conv(f, v) y = QuantizeLinear(a, t, u)}"),
            "y = QLinearConv(x, s, z, w, ws, wz, t, u)\n");
}

TEST(FuseQuantized, LeavesBiasesOfAnotherScale) {
  const std::string text = std::string("g (uint8[1,1,2,2] x) => (uint8[1,2,2,2] y) ") + kConv +
                           "c = DequantizeLinear <axis = 0> (b, other) a = Conv(f, v, c) "
                           "y = QuantizeLinear(a, t, u)}";
  EXPECT_NE(Fuse(text).find("Conv(f, v, c)"), std::string::npos);
}

TEST(FuseQuantized, ProductBehindLinears) {
  EXPECT_EQ(Fuse("g (uint8[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, "
                 "float[2] ws = {0.5, 1}, float s = {0.5}, uint8 z = {7}> {"
                 "f = DequantizeLinear(x, s, z) v = DequantizeLinear <axis = 1> (w, ws) "
                 "y = MatMul(f, v)}"),
            "y = com.microsoft.MatMulIntegerToFloat(x, w, s, ws, z, _)\n");
}

TEST(FuseQuantized, MatrixProductBehindLinears) {
  const char* text =
      "g (uint8[2,2] x) => (float[2,3] y) <int8[3,2] w = {1, 2, 3, 4, 5, 6}, "
      "float[3] ws = {0.5, 1, 2}, float s = {0.5}, uint8 z = {7}, float[3] b = {1, 2, 3}> {"
      "f = DequantizeLinear(x, s, z) v = DequantizeLinear <axis = 0> (w, ws) "
      "y = Gemm <transB = 1> (f, v, b)}";
  EXPECT_EQ(Fuse(text).rfind("y = com.microsoft.MatMulIntegerToFloat(x, ", 0), size_t{0});
}

TEST(FuseQuantized, ProductBetweenLinears) {
  EXPECT_EQ(Fuse("g (uint8[2,2] x) => (uint8[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, "
                 "float[2] ws = {0.5, 1}, float s = {0.5}, uint8 z = {7}, float t = {0.25}> {"
                 "f = DequantizeLinear(x, s, z) v = DequantizeLinear <axis = 1> (w, ws) "
                 "a = MatMul(f, v) y = QuantizeLinear(a, t, z)}")
                .find("QLinearMatMul(x, s, z, w, ws, "),
            size_t{4});
}

TEST(FuseQuantized, SumsAndProductsBetweenLinears) {
  const std::string head =
      "g (uint8[2,2] x, uint8[2] w) => (uint8[2,2] y) <float s = {0.5}, float t = {0.25}, "
      "uint8 z = {7}, uint8 none = {0}> {f = DequantizeLinear(x, s, z) v = DequantizeLinear(w, t) ";
  EXPECT_EQ(Fuse(head + "a = Add(f, v) y = QuantizeLinear(a, t, z)}"),
            "y = com.microsoft.QLinearAdd(x, s, z, w, t, _, t, z)\n");
  EXPECT_EQ(Fuse(head + "a = Mul(v, f) y = QuantizeLinear(a, t, z)}"),
            "y = com.microsoft.QLinearMul(w, t, _, x, s, z, t, z)\n");
  // Saturation cuts off what Relu does where the zero point is the least code.
  EXPECT_EQ(Fuse(head + "a = Add(f, v) r = Relu(a) y = QuantizeLinear(r, t, none)}"),
            "y = com.microsoft.QLinearAdd(x, s, z, w, t, _, t, none)\n");
  const std::string kept = Fuse(head + "a = Add(f, v) r = Relu(a) y = QuantizeLinear(r, t, z)}");
  EXPECT_NE(kept.find("Relu"), std::string::npos) << kept;
}

TEST(FuseQuantized, LeavesSumsOfOtherIntegers) {
  const std::string kept = Fuse(
      "g (uint8[2,2] x, int8[2,2] w) => (uint8[2,2] y) <float s = {0.5}, uint8 z = {7}> {"
      "f = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s) a = Add(f, v) "
      "y = QuantizeLinear(a, s, z)}");
  EXPECT_NE(kept.find("y = QuantizeLinear("), std::string::npos) << kept;
}

}  // namespace
}  // namespace onward
