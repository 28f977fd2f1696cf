#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

std::string Fuse(const std::string& text) { return Nodes(Optimize(text, FuseWeightCodes)); }

// Optimize compares the values, too.
TEST(FuseWeightCodes, ProductByDequantizedMatrix) {
  const std::string head = "g (float[2,3] x) => (float[2,2] y) ";
  const std::string matrix = "<int8[3,2] w = {1, -2, 3, -128, 127, 6}, ";
  EXPECT_EQ(Fuse(head + matrix +
                 "float[2] s = {0.5, 2}, int8[2] z = {0, 0}> {"
                 "v = DequantizeLinear <axis = -1> (w, s, z) y = MatMul(x, v)}")
                .rfind("y = com.microsoft.MatMulNBits(x, ", 0),
            size_t{0});
  EXPECT_EQ(Fuse(head + matrix +
                 "float s = {0.5}, int8 z = {-3}, float[2] b = {1, 2}> {"
                 "v = DequantizeLinear(w, s, z) y = Gemm(x, v, b)}")
                .rfind("y = com.microsoft.MatMulNBits(x, ", 0),
            size_t{0});
}

TEST(FuseWeightCodes, ProductByTransposedCodes) {
  const std::string head = "g (float[2,3] x) => (float[2,2] y) ";
  const std::string matrix = "<uint8[2,3] w = {1, 200, 3, 0, 255, 6}, float[2] s = {0.5, 2}, ";
  const std::string packed = "y = com.microsoft.MatMulNBits(x, ";
  EXPECT_EQ(Fuse(head + matrix +
                 "uint8[2] z = {7, 128}> {v = DequantizeLinear <axis = 0> (w, s, z) "
                 "t = Transpose(v) y = MatMul(x, t)}")
                .rfind(packed, 0),
            size_t{0});
  EXPECT_EQ(Fuse(head + matrix +
                 "float unused = {1}> {t = Transpose <perm = [1, 0]> (w) "
                 "v = DequantizeLinear <axis = 1> (t, s) y = MatMul(x, v)}")
                .rfind(packed, 0),
            size_t{0});
  // A scale for each row that is summed is none of the result.
  const std::string kept = Fuse("g (float[2,2] x) => (float[2,3] y) " + matrix +
                                "float unused = {1}> {v = DequantizeLinear <axis = 0> (w, s) "
                                "y = MatMul(x, v)}");
  EXPECT_EQ(kept.find("NBits"), std::string::npos) << kept;
}

TEST(FuseWeightCodes, GatherTakesCodes) {
  EXPECT_EQ(Fuse("g (int64[2] i) => (float[2,2] y) <int8[3,2] w = {1, -2, 3, 4, 5, 6}, "
                 "float s = {0.5}, int8 z = {1}> {v = DequantizeLinear(w, s, z) "
                 "y = Gather(v, i)}"),
            "y_Gather = Gather(w, i)\ny = DequantizeLinear(y_Gather, s, z)\n");
}

TEST(FuseWeightCodes, LeavesWeightsOfSixteenBits) {
  const std::string head =
      "<int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}> {"
      "v = DequantizeLinear <output_dtype = 10> (w, s) ";
  const std::string product =
      Fuse("g (float16[2,2] x) => (float16[2,2] y) " + head + "y = MatMul(x, v)}");
  EXPECT_NE(product.find("y = MatMul(x, v)"), std::string::npos) << product;
  const std::string rows = Fuse("g (int64[2] i) => (float16[2,2] y) " + head + "y = Gather(v, i)}");
  EXPECT_NE(rows.find("y = Gather(v, i)"), std::string::npos) << rows;
}

TEST(FuseWeightCodes, LeavesProductsOfIntegers) {
  const std::string kept = Fuse(
      "g (uint8[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}> {"
      "f = DequantizeLinear(x, s) v = DequantizeLinear(w, s) y = MatMul(f, v)}");
  EXPECT_NE(kept.find("y = MatMul(f, v)"), std::string::npos) << kept;
}

}  // namespace
}  // namespace onward
