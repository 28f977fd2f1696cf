#include "executors/narrow_model.h"

#include <gtest/gtest.h>

#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

bool IsNarrow(const std::string& text) {
  const absl::StatusOr<Model> model = testing::ModelFromText(text);
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    return false;
  }
  return MultipliesBf16Alone(model->graph);
}

TEST(NarrowModel, AllProductsAreOfBfloat16) {
  EXPECT_TRUE(
      IsNarrow("g (bfloat16[2,3] x, bfloat16[3,3] w) => (float[2,3] z) {"
               "y = MatMul(x, w) s = Relu(y) t = Gemm(s, w) z = Cast <to = 1> (t)}"));
  EXPECT_FALSE(IsNarrow("g (float[2,3] x, float[3,3] w) => (float[2,3] y) {y = MatMul(x, w)}"));
}

TEST(NarrowModel, OneOfFloat32IsEnough) {
  EXPECT_FALSE(
      IsNarrow("g (bfloat16[2,3] x, bfloat16[3,3] w) => (float[2,2] z) {"
               "y = MatMul(x, w) f = Cast <to = 1> (y) t = Transpose(f) z = MatMul(f, t)}"));
  EXPECT_FALSE(
      IsNarrow("g (bfloat16[2,3] x, bfloat16[3,3] w, float[2,3] f, float[3,3] v, bool c) => "
               "(bfloat16[2,3] y, float[2,3] z) {y = MatMul(x, w) z = If (c) <"
               "then_branch = t () => (float[2,3] a) {a = MatMul(f, v)}, "
               "else_branch = e () => (float[2,3] b) {b = Identity(f)}>}"));
}

TEST(NarrowModel, WithoutProducts) {
  EXPECT_FALSE(IsNarrow("g (bfloat16[2,3] x) => (bfloat16[2,3] y) {y = Relu(x)}"));
}

}  // namespace
}  // namespace onward::executors
