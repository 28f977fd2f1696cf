// Runs that another thread or a deadline ends, and runs by number.
#include "onward/run_options.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/custom_ops.h"
#include "onward/functions.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using Clock = std::chrono::steady_clock;
using testing::ModelFromText;

std::unique_ptr<Session> SessionOf(const std::string& text) {
  absl::StatusOr<Model> model = ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(model));
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

// A loop that takes years for the largest number of trips.
std::unique_ptr<Session> Loop() {
  return SessionOf(
      "g (int64 trips, float[n] x) => (float[n] y) <bool go = {1}> {"
      "  y = Loop (trips, go, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w)"
      "  { d = Identity (c) w = Sin (v) }> }");
}

Session::Inputs Trips(int64_t trips) {
  Tensor x(DType::kFloat32, {1000});
  std::fill_n(x.mutable_data<float>(), 1000, 0.5f);
  return {{"trips", Tensor::Scalar(trips)}, {"x", x}};
}

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

TEST(RunOptionsTest, ARunCancelledBeforeItBeginsDoesNothing) {
  const auto session = SessionOf("g (float[2] x) => (float[2] y) { y = Neg (x) }");
  std::stop_source stop;
  stop.request_stop();
  const auto ran =
      session->Run({{"x", Tensor::Of<float>({2}, {1, 2})}}, {.cancel = stop.get_token()});
  EXPECT_TRUE(absl::IsCancelled(ran.status())) << ran.status();
}

TEST(RunOptionsTest, AnotherThreadEndsALoopWhoseMemoryIsGivenBack) {
  const auto session = Loop();
  ASSERT_TRUE(session->PlanMemory(Trips(1)).ok());  // what is bound for these sizes stays
  const int64_t before = session->memory().used();
  std::stop_source stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  const auto ran = session->Run(Trips(kForever), {.cancel = stop.get_token()});
  other.join();
  EXPECT_TRUE(absl::IsCancelled(ran.status())) << ran.status();
  EXPECT_EQ(session->memory().used(), before);
  const auto again = session->Run(Trips(1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NEAR(again->at("y").tensor().data<float>()[0], 0.4794255, 1e-6);
}

TEST(RunOptionsTest, ADeadlineEndsALoop) {
  const auto session = Loop();
  const auto late =
      session->Run(Trips(kForever), {.deadline = Clock::now() + std::chrono::milliseconds(20)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
  const auto past = session->Run(Trips(1), {.deadline = Clock::now() - std::chrono::seconds(1)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(past.status())) << past.status();
  const auto in_time = session->Run(Trips(1), {.deadline = Clock::now() + std::chrono::hours(1)});
  EXPECT_TRUE(in_time.ok()) << in_time.status();
}

TEST(RunOptionsTest, RunsOfOneNumberDrawTheSame) {
  const auto session = SessionOf("g () => (float[8] y) { y = RandomNormal <shape = [8]> () }");
  const auto draw = [&](const RunOptions& options) {
    return session->Run({}, options)->at("y").tensor();
  };
  const Tensor first = draw({.run_index = 7}), second = draw({.run_index = 7}),
               other = draw({.run_index = 8});
  EXPECT_TRUE(std::equal(first.data<float>(), first.data<float>() + 8, second.data<float>()));
  EXPECT_FALSE(std::equal(first.data<float>(), first.data<float>() + 8, other.data<float>()));
}

TEST(RunOptionsTest, RunsOfOneSeedDrawTheSame) {
  const auto session = SessionOf(
      "g (float[n] x) => (float[n] y, float[8] z) <float ratio = {0.5}, bool on = {1}> {"
      "  y = Dropout (x, ratio, on)  z = RandomNormal <shape = [8]> () }");
  Tensor x(DType::kFloat32, {64});
  std::fill_n(x.mutable_data<float>(), 64, 1.0f);
  const auto draw = [&](const RunOptions& options) {
    std::vector<float> drawn;
    const auto outputs = session->Run({{"x", x}}, options);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    for (const char* name : {"y", "z"}) {
      const auto part = outputs->at(name).tensor().span<float>();
      drawn.insert(drawn.end(), part.begin(), part.end());
    }
    return drawn;
  };
  const std::vector<float> first = draw({.seed = 7});
  const std::vector<float> next = draw({});
  EXPECT_EQ(draw({.seed = 7}), first);
  EXPECT_NE(draw({.seed = 8}), first);
  EXPECT_NE(draw({.seed = uint64_t{7} << 32}), first);
  EXPECT_NE(next, first);
  // A run with a seed is not one of those that the session counts.
  session->set_run_index(0);
  EXPECT_EQ(draw({}), next);
  EXPECT_NE(draw({.seed = 0}), next);
  // Its number tells runs of one seed apart.
  EXPECT_NE(draw({.run_index = 1, .seed = 7}), first);
  EXPECT_EQ(draw({.run_index = 1, .seed = 7}), draw({.run_index = 1, .seed = 7}));
}

// Steps of a run, the third of which ends once another thread has asked the run to stop.
struct WatchedSteps {
  std::atomic<int> ran{0};
  std::atomic<bool> waits{false}, stopped{false};
};
WatchedSteps* watched = nullptr;

class WatchedKernel : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    context.out<float>(0)[0] = context.in<float>(0)[0];
    if (++watched->ran != 3) return absl::OkStatus();
    watched->waits = true;
    while (!watched->stopped) std::this_thread::yield();
    return absl::OkStatus();
  }
};

TEST(RunOptionsTest, NoStepBeginsAfterAnotherThreadHasCancelled) {
  const auto make = [](const NodeSpec&) -> absl::StatusOr<std::unique_ptr<Kernel>> {
    return std::make_unique<WatchedKernel>();
  };
  ASSERT_TRUE(RegisterCustomOp({.domain = "watched.ops",
                                .signature = "Watched (X: T) -> (Y: T) where T = float",
                                .formula = [](const FormulaCall& call) -> std::vector<Expr> {
                                  return {call.input(0)};
                                },
                                .kernels = {{"cpu", "watched", make}}})
                  .ok());
  GraphBuilder builder("chain");
  Expr value = builder.Input("x", DType::kFloat32, {1});
  for (int i = 0; i < 100; ++i) value = expr::Op("Watched", {value}, {}, "watched.ops");
  builder.Output("y", value);
  const auto session = Session::Create(*builder.Build());
  ASSERT_TRUE(session.ok()) << session.status();
  WatchedSteps steps;
  watched = &steps;
  std::stop_source stop;
  Clock::time_point asked;
  std::thread other([&] {
    while (!steps.waits) std::this_thread::yield();
    asked = Clock::now();
    stop.request_stop();
    steps.stopped = true;
  });
  const auto ran =
      (*session)->Run({{"x", Tensor::Of<float>({1}, {5})}}, {.cancel = stop.get_token()});
  const Clock::time_point ended = Clock::now();
  other.join();
  watched = nullptr;
  EXPECT_TRUE(absl::IsCancelled(ran.status())) << ran.status();
  EXPECT_EQ(steps.ran, 3);
  // 10 ms on a machine that has nothing else to do; a thread may wait for a busy one.
  EXPECT_LT(ended - asked, std::chrono::seconds(1));
}

}  // namespace
}  // namespace onward::executors
