#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/passes/passes.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using testing::Nodes;
using testing::Optimize;

// With the product's batch axes joined, as tf2onnx writes "bqhd,bkhd->bhqk".
TEST(UnflattenMatMul, EinsumOfTf2Onnx) {
  const std::string text =
      "g (float[2,4,Q,5] q, float[2,4,K,5] k) => (float[] y) <int64[1] one = {3},"
      " int64[3] rows = {8, -1, 5},"
      " int64[1] last = {4}> {"
      " u = Unsqueeze(q, one) a = Reshape(u, rows) b = Reshape(k, rows)"
      " t = Transpose <perm = [0, 2, 1]> (b) p = MatMul(a, t) s = Shape <start = 2, end = 3> (q)"
      " z = Shape <start = 2, end = 3> (k) h = Constant <value_ints = [2, 4]> ()"
      " i = Constant <value_ints = [1]> () d = Concat <axis = 0> (h, s, z, i)"
      " r = Reshape(p, d) y = Squeeze(r, last) }";
  EXPECT_EQ(
      Nodes(Optimize(
          text, {{"unflatten", UnflattenMatMul}, {"merge", MergeChains}, {"dead", EliminateDead}})),
      "r_Transpose = Transpose(k)\ny = MatMul(q, r_Transpose)\n");
}

// The batch axes of the operands are others than those of the result.
TEST(UnflattenMatMul, LeavesOtherProducts) {
  const std::string text =
      "g (float[4,2,3,5] a, float[2,4,5,6] b) => (float[2,4,3,6] y) <int64[3] left = {8, 3, 5},"
      " int64[3] right = {8, 5, 6}, int64[4] apart = {2, 4, 3, 6}> {"
      " x = Reshape(a, left) z = Reshape(b, right) p = MatMul(x, z) y = Reshape(p, apart) }";
  EXPECT_NE(Nodes(Optimize(text, UnflattenMatMul)).find("y = Reshape(p, apart)"),
            std::string::npos);
}

}  // namespace
}  // namespace onward
