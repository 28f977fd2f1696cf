// A program bound again to other shapes takes from an earlier binding what has not changed; the
// result must be the binding that it would have got by itself.
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "executors/compile.h"
#include "executors/plan/bind_program.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

// Parts that depend on `past` beside parts that do not; shapes computed in the graph; memory shared
// in place, by alias, and with outputs.
constexpr char kText[] = R"(g (float[b,1,8] x, float[b,past,8] cache, float[b,past] bias)
    => (float[b,l,8] y, float[b,m,8] keep, float[b,8] flat) <float[8,8] w, float[8] s> {
  h = MatMul(x, w)
  a = Relu(h)
  keep = Concat <axis = 1> (cache, a)
  q = Mul(a, s)
  kt = Transpose <perm = [0, 2, 1]> (keep)
  scores = MatMul(q, kt)
  shape = Shape(keep)
  one = Constant <value_ints = [1]> ()
  length = Gather(shape, one)
  batch = Shape <start = 0, end = 1> (x)
  target = Concat <axis = 0> (batch, one, length)
  same = Reshape(scores, target)
  p = Softmax(same)
  c = MatMul(p, keep)
  y = Add(c, h)
  minus = Constant <value_ints = [-1]> ()
  flat_shape = Concat <axis = 0> (batch, minus)
  flat = Reshape(q, flat_shape)
})";

std::shared_ptr<const Program> Compile() {
  std::string text = kText;
  std::mt19937 generator(7);
  std::uniform_int_distribution<int> digit(-9, 9);
  const auto values = [&](int count) {
    std::string list = "{";
    for (int i = 0; i < count; ++i) absl::StrAppend(&list, i > 0 ? ", " : "", digit(generator));
    return list + "}";
  };
  text.replace(text.find("float[8,8] w"), 12, "float[8,8] w = " + values(64));
  text.replace(text.find("float[8] s"), 10, "float[8] s = " + values(8));
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  static const SessionOptions* options = new SessionOptions();
  absl::StatusOr<Compiled> compiled = CompileModel(std::move(model->graph), *options, {}, {});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled->program;
}

struct Shapes {
  int64_t batch, past;
};

absl::StatusOr<std::shared_ptr<const Binding>> Bind(const Program& program, Shapes shapes,
                                                    const std::shared_ptr<const Binding>& similar) {
  const Dims x = {shapes.batch, 1, 8}, cache = {shapes.batch, shapes.past, 8},
             bias = {shapes.batch, shapes.past};
  std::vector<SlotValue> inputs;
  for (const Dims* dims : {&x, &cache, &bias}) {
    inputs.push_back({{DType::kFloat32, Device(), nullptr, *dims}, nullptr, true});
  }
  return BindProgram(program, inputs, 2, similar);
}

void ExpectSame(const Program& program, const Binding& a, const Binding& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.arena_bytes, b.arena_bytes);
  EXPECT_EQ(a.copied_outputs, b.copied_outputs);
  for (size_t i = 0; i < a.slots.size(); ++i) {
    SCOPED_TRACE(program.graph.value({static_cast<int32_t>(i)}).name);
    EXPECT_EQ(a.slots[i].place, b.slots[i].place);
    EXPECT_EQ(a.slots[i].root, b.slots[i].root);
    EXPECT_EQ(a.slots[i].external, b.slots[i].external);
    EXPECT_EQ(a.slots[i].offset, b.slots[i].offset);
    EXPECT_EQ(a.values[i].tensor.dtype, b.values[i].tensor.dtype);
    EXPECT_EQ(a.values[i].tensor.dims, b.values[i].tensor.dims);
    EXPECT_EQ(a.values[i].tensor.data == nullptr, b.values[i].tensor.data == nullptr);
    if (a.values[i].tensor.data != nullptr && b.values[i].tensor.data != nullptr) {
      EXPECT_TRUE(SameBits(CopyOf(a.values[i].tensor), CopyOf(b.values[i].tensor)));
    }
  }
  for (size_t s = 0; s < a.steps.size(); ++s) {
    SCOPED_TRACE(program.graph.Describe(program.steps[s].node));
    EXPECT_EQ(a.steps[s].mode, b.steps[s].mode);
    EXPECT_EQ(a.steps[s].scratch, b.steps[s].scratch);
    EXPECT_EQ(a.steps[s].state == nullptr, b.steps[s].state == nullptr);
  }
}

TEST(Binding, FromASimilarOneIsAsFromNothing) {
  const std::shared_ptr<const Program> program = Compile();
  ASSERT_NE(program, nullptr);
  std::shared_ptr<const Binding> similar;
  for (const Shapes shapes :
       {Shapes{1, 4}, {1, 5}, {1, 0}, {3, 5}, {3, 8}, {1, 1000}, {2, 1}, {0, 3}, {1, 4}}) {
    SCOPED_TRACE(absl::StrCat("batch ", shapes.batch, ", past ", shapes.past));
    const auto alone = Bind(*program, shapes, nullptr);
    const auto derived = Bind(*program, shapes, similar);
    ASSERT_TRUE(alone.ok()) << alone.status();
    ASSERT_TRUE(derived.ok()) << derived.status();
    ExpectSame(*program, **alone, **derived);
    similar = *derived;
  }
}

TEST(Binding, TakesStateFromItsBaseWhereNothingChanged) {
  const std::shared_ptr<const Program> program = Compile();
  ASSERT_NE(program, nullptr);
  const auto base = Bind(*program, {1, 4}, nullptr);
  ASSERT_TRUE(base.ok());
  const auto longer = Bind(*program, {1, 5}, *base), longest = Bind(*program, {1, 6}, *longer);
  ASSERT_TRUE(longest.ok());
  EXPECT_EQ((*longest)->base, *base);
  int taken = 0;
  for (size_t s = 0; s < (*base)->steps.size(); ++s) {
    const void* state = (*base)->steps[s].state;
    taken += state != nullptr && state == (*longest)->steps[s].state;
  }
  EXPECT_GE(taken, 2);
}

}  // namespace
}  // namespace onward::executors
