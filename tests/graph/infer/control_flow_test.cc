// Types through bodies: what a Loop carries, branches of a known condition, lengths of sequences.
#include <gtest/gtest.h>

#include <string>

#include "graph/infer/infer.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

// The type of a value after import.
std::string TypeOf(const std::string& text, const std::string& name) {
  const absl::StatusOr<Model> model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return "";
  const ValueId id = model->graph.FindValue(name);
  EXPECT_TRUE(id.valid()) << name;
  return id.valid() ? model->graph.type(id).ToString() : "";
}

// A Loop that carries `x` of `type` and computes the next one by `body` from `before`.
std::string Carried(const std::string& type, const std::string& body) {
  return TypeOf("agraph (int64 trips, " + type +
                    R"( x, float[n,4] other) => (y) {
    y = Loop (trips, , x) <body = b (int64 i, bool c, before) => (bool d, after) {
      d = Identity (c)
      )" + body + R"(
    }>
  })",
                "y");
}

TEST(InferControlFlow, CarriedValuesKeepWhatEveryIterationKeeps) {
  EXPECT_EQ(Carried("float[n,4]", "after = Relu (before)"), "float32[n,4]");
  EXPECT_EQ(Carried("float[n,4]", "after = Add (before, other)"), "float32[n,4]");
  EXPECT_EQ(Carried("float[n,4]", "after = Concat <axis=0> (before, other)"), "float32[y#0,4]");
  // Whether the dims stay square is a matter of the second round.
  EXPECT_EQ(Carried("float[n,4]", "after = Transpose (before)"), "float32[y#0,y#1]");
  EXPECT_EQ(Carried("float[4,4]", "after = Transpose (before)"), "float32[4,4]");
  // No trip leaves a vector, any trip makes a matrix.
  EXPECT_EQ(Carried("float[4]", "after = Add (before, other)"), "float32[...]");
}

TEST(InferControlFlow, CarriedValuesOfNestedLoops) {
  EXPECT_EQ(Carried("float[n,4]", R"(after = Loop (i, , before) <body = inner (int64 j, bool e, p)
      => (bool f, q) { f = Identity (e) q = Concat <axis=1> (p, other) }>)"),
            "float32[n,y#1]");
}

TEST(InferControlFlow, AnEmptySequenceTakesTheTypeOfWhatIsInserted) {
  const std::string text = R"(agraph (int64 trips, float[n,4] x) => (y, int64 l) {
    empty = SequenceEmpty ()
    y = Loop (trips, , empty) <body = b (int64 i, bool c, before) => (bool d, after) {
      d = Identity (c)
      after = SequenceInsert (before, x)
    }>
    two = SequenceConstruct (x, x)
    l = SequenceLength (two)
    shaped = ConstantOfShape (k)
    k = Unsqueeze (l, zero)
    zero = Constant <value_ints = [0]> ()
  })";
  EXPECT_EQ(TypeOf(text, "y"), "sequence(float32[n,4])");
  EXPECT_EQ(TypeOf(text, "shaped"), "float32[2]");
}

TEST(InferControlFlow, AKnownConditionTakesItsBranch) {
  const auto text = [](const std::string& size) {
    return "agraph (float[" + size + R"(,4] x) => (y) {
    rows = Shape <end = 1> (x)
    one = Constant <value_ints = [1]> ()
    is_one = Equal (rows, one)
    axis = Constant <value_ints = [0]> ()
    y = If (is_one) <then_branch = t () => (a) { a = Squeeze (x, axis) },
                     else_branch = e () => (b) { b = Identity (x) }>
  })";
  };
  EXPECT_EQ(TypeOf(text("1"), "y"), "float32[4]");
  EXPECT_EQ(TypeOf(text("3"), "y"), "float32[3,4]");
  EXPECT_EQ(TypeOf(text("n"), "y"), "float32[...]");
}

}  // namespace
}  // namespace onward
