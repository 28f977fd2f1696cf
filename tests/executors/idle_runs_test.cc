// What runs keep for the next ones is given back where memory is short, and when nobody uses it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSize = 512;
constexpr int64_t kBytes = 2 * kSize * kSize * 4;

// Computes in kBytes, half of them packed columns, which it keeps from run to run, and returns one
// number.
std::unique_ptr<Session> SessionOf(const SessionOptions& options) {
  absl::StatusOr<Model> model = testing::ModelFromText(
      "g (float[n, n] x) => (float y) { p = MatMul (x, x) y = ReduceMax <keepdims = 0> (p) }");
  EXPECT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

Session::Inputs Ones() {
  Tensor tensor(DType::kFloat32, {kSize, kSize});
  std::fill_n(tensor.mutable_data<float>(), kSize * kSize, 1.0f);
  return {{"x", Value(std::move(tensor))}};
}

// Runs give the right number.
void ExpectRuns(Session& session, const Session::Inputs& inputs) {
  const absl::StatusOr<Session::Outputs> outputs = session.Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->at("y").tensor().data<float>()[0], static_cast<float>(kSize));
}

TEST(IdleRunsTest, AreGivenUpWhereAnotherSessionNeedsTheirMemory) {
  SessionOptions options;
  options.num_threads = 1;
  options.memory = std::make_shared<MemoryLimit>(kBytes * 3 / 2);
  const std::unique_ptr<Session> first = SessionOf(options), second = SessionOf(options);
  const Session::Inputs inputs = Ones();
  for (int turn = 0; turn < 3; ++turn) {
    ExpectRuns(*first, inputs);
    EXPECT_GE(options.memory->used(), kBytes);
    ExpectRuns(*second, inputs);
    EXPECT_LT(options.memory->used(), 2 * kBytes);
  }
}

TEST(IdleRunsTest, AreGivenBackOnceTheyAreUnused) {
  SessionOptions options;
  options.num_threads = 1;
  options.memory = std::make_shared<MemoryLimit>(int64_t{1} << 30);
  const std::unique_ptr<Session> session = SessionOf(options);
  const Session::Inputs inputs = Ones();
  const Clock::time_point before = Clock::now();
  ExpectRuns(*session, inputs);
  session->ReleaseIdle(before);
  EXPECT_GE(options.memory->used(), kBytes) << "it was used since";
  session->ReleaseIdle(Clock::now() + std::chrono::seconds(1));
  EXPECT_LT(options.memory->used(), kBytes);
  ExpectRuns(*session, inputs);
}

TEST(IdleRunsTest, ASessionThatIsGoneIsNotAsked) {
  SessionOptions options;
  options.num_threads = 1;
  options.memory = std::make_shared<MemoryLimit>(kBytes * 3 / 2);
  const Session::Inputs inputs = Ones();
  ExpectRuns(*SessionOf(options), inputs);
  const std::unique_ptr<Session> second = SessionOf(options);
  ExpectRuns(*second, inputs);
}

}  // namespace
}  // namespace onward::executors
