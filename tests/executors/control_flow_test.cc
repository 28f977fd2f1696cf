// Values that bodies capture, whatever the order of a node's bodies.
#include <gtest/gtest.h>

#include <string>

#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

float RunOnce(const std::string& text, bool condition, bool optimize) {
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  SessionOptions options;
  options.optimize = optimize;
  const auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return -1;
  const auto scalar = [](auto value) {
    Tensor tensor(kDTypeOf<decltype(value)>, Dims{});
    *tensor.mutable_data<decltype(value)>() = value;
    return Value(tensor);
  };
  const auto outputs = (*session)->Run(
      {{"c", scalar(condition)}, {"a", scalar(2.0f)}, {"b", scalar(3.0f)}, {"d", scalar(5.0f)}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs->at("y").tensor().data<float>() : -1;
}

// Python's onnx.helper writes attributes in the order of their names: else_branch first.
TEST(ControlFlow, BranchesCaptureInEitherOrder) {
  const std::string head = "agraph (bool c, float a, float b, float d) => (float y) { y = If (c) <";
  const std::string yes = "then_branch = t () => (float u) { u = Sub (a, b) }";
  const std::string no = "else_branch = e () => (float v) { w = Mul (b, d) v = Sub (d, w) }";
  for (const std::string& text : {head + yes + ", " + no + "> }", head + no + ", " + yes + "> }"}) {
    for (const bool optimize : {false, true}) {
      EXPECT_EQ(RunOnce(text, true, optimize), -1) << text;
      EXPECT_EQ(RunOnce(text, false, optimize), -10) << text;
    }
  }
}

// A branch that could not run for these sizes is not an error where it is not taken.
TEST(ControlFlow, ABranchThatIsNotTakenMayNotFit) {
  const std::string text = R"(agraph (bool c, float a, float b, float d) => (float[3] y) {
    zeros = Constant <value_floats = [2.0, 0.0, 0.0]> ()
    x = Add (zeros, a)
    size = Shape <end = 1> (x)
    one = Constant <value_ints = [1]> ()
    axis = Constant <value_ints = [0]> ()
    is_one = Equal (size, one)
    y = If (is_one) <then_branch = t () => (float u) { u = Squeeze (x, axis) },
                     else_branch = e () => (float[3] v) { v = Identity (x) }>
  })";
  EXPECT_EQ(RunOnce(text, true, true), 4);
  EXPECT_EQ(RunOnce(text, true, false), 4);
}

// Y = softmax(Q K^T * scale + bias) V with a bias that the body captures: of so large a bias
// towards one key that the result is its value.
TEST(ControlFlow, BodiesOfFlexAttentionCapture) {
  const std::string text = R"(
  agraph (bool c, float a, float b, float d) => (float[1,1,1,1] y) {
    one = Constant <value_ints = [1, 1, 1, 1]> ()
    two = Constant <value_ints = [1, 1, 2, 1]> ()
    q = Reshape (a, one)
    pair = Concat <axis = 0> (b1, d1)
    shape = Constant <value_ints = [1]> ()
    b1 = Reshape (b, shape)
    d1 = Reshape (d, shape)
    k = Reshape (pair, two)
    bias = Constant <value_floats = [0.0, -10000.0]> ()
    half = Constant <value_float = 0.5> ()
    y = ai.onnx.preview.FlexAttention (q, k, k) <
      score_mod = s (float[B,H,L,S] scores) => (float[B,H,L,S] moved) {
        moved = Add (scores, bias)
      },
      prob_mod = p (float[B,H,L,S] probabilities) => (float[B,H,L,S] halved) {
        halved = Mul (probabilities, half)
      }>
  })";
  EXPECT_EQ(RunOnce(text, true, true), 1.5f);
  EXPECT_EQ(RunOnce(text, true, false), 1.5f);
}

}  // namespace
}  // namespace onward::executors
