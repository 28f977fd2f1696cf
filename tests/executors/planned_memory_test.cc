// What a run is planned to take is what it takes: by the memory that it counts, and by limits just
// above and just below.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using testing::ModelFromText;

std::shared_ptr<MemoryLimit> Limit(int64_t bytes) { return std::make_shared<MemoryLimit>(bytes); }

std::unique_ptr<Session> SessionOf(const std::string& text, std::shared_ptr<MemoryLimit> memory) {
  absl::StatusOr<Model> model = ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  SessionOptions options;
  options.memory = std::move(memory);
  options.num_threads = 2;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

int64_t PlannedPeak(Session& session, const Session::Inputs& inputs) {
  const auto planned = session.PlanMemory(inputs);
  EXPECT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->sized_at_run, 0);
  return session.memory().used() + planned->arena + planned->outputs + planned->updates +
         planned->copied_updates;
}

void ExpectPlanned(const std::string& text, const Session::Inputs& inputs) {
  SCOPED_TRACE(text);
  auto memory = Limit(int64_t{1} << 40);
  const auto session = SessionOf(text, memory);
  const int64_t planned = PlannedPeak(*session, inputs);
  memory->ResetPeak();
  ASSERT_TRUE(session->Run(inputs).ok());
  EXPECT_NEAR(static_cast<double>(memory->peak()), static_cast<double>(planned),
              0.01 * static_cast<double>(planned));
  EXPECT_TRUE(SessionOf(text, Limit(planned * 101 / 100))->Run(inputs).ok());
  const auto refused = SessionOf(text, Limit(planned * 99 / 100))->Run(inputs);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
}

Tensor Filled(DimsView dims) {
  Tensor tensor(DType::kFloat32, dims);
  std::iota(tensor.mutable_data<float>(), tensor.mutable_data<float>() + tensor.num_elements(),
            1.0f);
  return tensor;
}

// The axes of the sum are the places of a comparison of shapes.
constexpr char kSumTo[] = R"(g (float[a, b, c] gradient, float[d, e] like) => (float[d, e] y) {
  twice = Add (gradient, gradient)
  have = Shape (twice)
  want = Shape (like)
  rank = Size (have)
  less = Size (want)
  more = Sub (rank, less)
  one = Constant <value_ints = [1]> ()
  count = Reshape (more, one)
  ones = Expand (one, count)
  all = Concat <axis = 0> (ones, want)
  same = Equal (all, have)
  differ = Not (same)
  places = NonZero (differ)
  minus = Constant <value_ints = [-1]> ()
  axes = Reshape (places, minus)
  sum = ReduceSum <keepdims = 1, noop_with_empty_axes = 1> (twice, axes)
  shaped = Reshape <allowzero = 1> (sum, want)
  y = Exp (shaped)
})";

TEST(PlannedMemory, SizesThatShapesDecideArePlanned) {
  ExpectPlanned(kSumTo, {{"gradient", Filled({64, 128, 32})}, {"like", Filled({128, 32})}});
  ExpectPlanned(kSumTo, {{"gradient", Filled({64, 128, 32})}, {"like", Filled({128, 1})}});
  ExpectPlanned(kSumTo, {{"gradient", Filled({1, 512, 512})}, {"like", Filled({512, 512})}});
}

TEST(PlannedMemory, ASumOverNothingSharesItsMemory) {
  const auto session = SessionOf(kSumTo, Limit(int64_t{1} << 40));
  const Session::Inputs inputs = {{"gradient", Filled({1, 512, 512})},
                                  {"like", Filled({512, 512})}};
  const auto planned = session->PlanMemory(inputs);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_LT(planned->arena + planned->outputs, 2 * 512 * 512 * 4);
  const auto outputs = session->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->at("y").tensor().dims(), DimsView({512, 512}));
}

// Other shapes of the same session, larger and smaller: what was bound before is of no matter.
TEST(PlannedMemory, IsThatOfTheShapesAtHand) {
  auto memory = Limit(int64_t{1} << 40);
  const auto session = SessionOf(kSumTo, memory);
  for (const int64_t rows : {16, 64, 8, 128}) {
    const Session::Inputs inputs = {{"gradient", Filled({4, rows, 32})},
                                    {"like", Filled({rows, 1})}};
    const auto planned = session->PlanMemory(inputs);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(planned->sized_at_run, 0);
    const auto outputs = session->Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(outputs->at("y").tensor().dims(), DimsView({rows, 1}));
  }
}

TEST(PlannedMemory, NodesThatDataSizesAreCounted) {
  const auto session = SessionOf(
      "g (float[n] x) => (int64[1, m] y) { z = Relu (x) y = NonZero (z) }", Limit(1 << 20));
  const auto planned = session->PlanMemory({{"x", Filled({100})}});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->sized_at_run, 1);
}

// Sizes of values that are known but large are left to the run.
TEST(PlannedMemory, LargeKnownValuesAreNotComputedTwice) {
  const auto session = SessionOf(
      "g (float[n] x) => (int64[1, m] y, int64[k] unique) {"
      "  s = Shape (x) one = Constant <value_float = 1.0> ()"
      "  ones = ConstantOfShape <value = float[1] {1}> (s) y = NonZero (ones)"
      "  zero = Constant <value_int = 0> () step = Constant <value_int = 1> ()"
      "  scalar = Squeeze (s) range = Range (zero, scalar, step) unique = Unique (range) }",
      Limit(1 << 24));
  for (const int64_t n : {3, 5000}) {
    const auto outputs = session->Run({{"x", Filled({n})}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(outputs->at("y").tensor().dims(), DimsView({1, n}));
    EXPECT_EQ(outputs->at("unique").tensor().dims(), DimsView({n}));
    EXPECT_EQ(outputs->at("y").tensor().data<int64_t>()[n - 1], n - 1);
  }
}

}  // namespace
}  // namespace onward::executors
