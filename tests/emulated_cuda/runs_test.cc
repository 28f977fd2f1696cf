// Runs of bodies on the device that another thread ends, that are refused memory, and of several
// callers at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "onward/memory_limit.h"
#include "onward/run_options.h"
#include "tests/emulated_cuda/compared_session.h"
#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// The host decides when it ends; three launches a turn, which are recorded.
constexpr char kCounted[] =
    "g (int64 turns, float[2, 3] x) => (float[2, 3] y) <bool go = {1}> {"
    "y = Loop (turns, go, x) <body = b (int64 i, bool c, float[2, 3] s) => "
    "(bool d, float[2, 3] t) {"
    "  d = Identity (c) q = Softmax <axis = 0> (s) r = Softmax (q) t = Sub (r, x) }> }";

// The device decides.
constexpr char kWhile[] =
    "g (int64 turns, float[2, 3] x) => (float[2, 3] y) <bool go = {1}> {"
    "last = Cast <to = 1> (turns) zero = Constant <value_float = 0.0> ()"
    "y, n = Loop (, go, x, zero) <body = b (int64 i, bool c, float[2, 3] s, float k) => "
    "(bool d, float[2, 3] t, float m) {"
    "  one = Constant <value_float = 1.0> () m = Add (k, one) d = Less (m, last)"
    "  r = Softmax (s) t = Sub (r, x) }> }";

// A branch within a loop.
constexpr char kNested[] =
    "g (int64 turns, float[2, 3] x) => (float[2, 3] y) <bool go = {1}, int64 two = {2}> {"
    "y = Loop (turns, go, x) <body = b (int64 i, bool c, float[2, 3] s) => "
    "(bool d, float[2, 3] t) {"
    "  d = Identity (c) r = Mod (i, two) zero = Constant <value_int = 0> () even = Equal (r, zero)"
    "  t = If (even) <then_branch = p () => (float[2, 3] u) { v = Softmax (s) u = Add (v, x) },"
    "                 else_branch = q () => (float[2, 3] o) { w = Neg (s) o = Mul (w, x) }> }> }";

constexpr const char* kModels[] = {kCounted, kWhile, kNested};

// Calls of cuBLASLt, which take the emulated device milliseconds.
constexpr char kProduct[] =
    "g (int64 turns, float[2, 3] x) => (float[2, 3] y) "
    "<float[3, 3] w = {0.5, 1, 0, -1, 0.25, 1, 0.5, 0.5, -0.5}, bool go = {1}> {"
    "y = Loop (turns, go, x) <body = b (int64 i, bool c, float[2, 3] s) => "
    "(bool d, float[2, 3] t) { d = Identity (c) p = MatMul (s, w) t = Tanh (p) }> }";

Session::Inputs Inputs(int64_t turns, int seed = 1) {
  Tensor x(DType::kFloat32, {2, 3});
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = static_cast<float>((i * 7 + seed) * 37 % 101 - 50) / 100;
  return {{"turns", Value(Tensor::Of<int64_t>({}, {turns}))}, {"x", Value(std::move(x))}};
}

class RunsTest : public ::testing::TestWithParam<Settings> {
 protected:
  void SetUp() override { Configure(GetParam()); }
  void TearDown() override { Configure({}); }
};

// Returns what a run takes to end, once another thread has asked it to.
Clock::duration TimeToEnd(Session& session) {
  std::stop_source stop;
  Clock::time_point asked;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    asked = Clock::now();
    stop.request_stop();
  });
  const auto ran = session.Run(Inputs(kForever), {.cancel = stop.get_token()});
  const Clock::time_point end = Clock::now();
  other.join();
  EXPECT_TRUE(absl::IsCancelled(ran.status())) << ran.status();
  return end - asked;
}

TEST_P(RunsTest, AnotherThreadEndsALoop) {
  for (const char* model : kModels) {
    SCOPED_TRACE(model);
    const auto device = SessionOn("cuda", model), host = SessionOn("cpu", model);
    ASSERT_TRUE(device != nullptr && host != nullptr);
    ExpectEqualOutputs(*device, *host, Inputs(3));
    const int64_t used = device->memory().used();
    constexpr auto kEnough = std::chrono::milliseconds(10);
    Clock::duration least = Clock::duration::max();
    // A thread may wait for a busy machine, but not each time.
    for (int i = 0; i < 3 || (least > kEnough && i < 20); ++i) {
      least = std::min(least, TimeToEnd(*device));
      EXPECT_LE(device->memory().used(), used);
    }
    EXPECT_LT(least, kEnough);
    ExpectEqualOutputs(*device, *host, Inputs(3));
  }
}

TEST_P(RunsTest, ADeadlineEndsALoop) {
  for (const char* model : kModels) {
    SCOPED_TRACE(model);
    const auto device = SessionOn("cuda", model), host = SessionOn("cpu", model);
    ASSERT_TRUE(device != nullptr && host != nullptr);
    const auto late =
        device->Run(Inputs(kForever), {.deadline = Clock::now() + std::chrono::milliseconds(20)});
    EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
    ExpectEqualOutputs(*device, *host, Inputs(3));
  }
}

// Each caller has inputs of its own, and a number of turns.
void RunOften(Session& session, const char* model, int caller) {
  const auto host = SessionOn("cpu", model);
  ASSERT_NE(host, nullptr);
  for (int i = 0; i < 6; ++i) ExpectEqualOutputs(session, *host, Inputs((caller + i) % 5, caller));
}

TEST_P(RunsTest, CallersShareASession) {
  for (const char* model : {kCounted, kWhile, kNested, kProduct}) {
    SCOPED_TRACE(model);
    const auto device = SessionOn("cuda", model);
    ASSERT_NE(device, nullptr);
    const auto shared = device->Share(SessionOptions());
    ASSERT_TRUE(shared.ok()) << shared.status();
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      Session& session = caller == 3 ? **shared : *device;
      callers.emplace_back([&session, model, caller] { RunOften(session, model, caller); });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

TEST_P(RunsTest, CallersMakeSessionsOfTheirOwn) {
  std::vector<std::thread> callers;
  for (const char* model : {kCounted, kWhile, kNested, kProduct}) {
    callers.emplace_back([model] {
      const auto device = SessionOn("cuda", model);
      ASSERT_NE(device, nullptr);
      RunOften(*device, model, 1);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

INSTANTIATE_TEST_SUITE_P(Orders, RunsTest,
                         ::testing::Values(Settings{}, Settings{.order = Order::kLate},
                                           Settings{.order = Order::kRandom, .seed = 1}));

// A body takes 4 n^2 bytes of the device, or stacks n numbers in each turn.
struct MemoryCase {
  const char* model;
  int64_t turns, n;
};

constexpr MemoryCase kMemoryCases[] = {
    {"g (int64 turns, float[n] x) => (float[n] y) <bool go = {1}, int64[1] one = {1}> {"
     "y = Loop (turns, go, x) <body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t) {"
     "  d = Identity (c) column = Unsqueeze (s, one) all = Add (column, s)"
     "  t = ReduceMax <keepdims = 0> (all, one) }> }",
     3, 3000},
    {"g (int64 turns, float[n] x) => (float[n] z, float[m, n] y) <bool go = {1}> {"
     "z, y = Loop (turns, go, x) <body = b (int64 i, bool c, float[n] s) => "
     "(bool d, float[n] t, float[n] u) { d = Identity (c) t = Neg (s) u = Abs (t) }> }",
     4000, 3000},
};

TEST(EmulatedBodies, AreRefusedMemoryBehindTheLimit) {
  Configure({});
  for (const MemoryCase& each : kMemoryCases) {
    SCOPED_TRACE(each.model);
    const auto inputs = [](int64_t turns, int64_t n) -> Session::Inputs {
      Tensor x(DType::kFloat32, {n});
      for (int64_t i = 0; i < n; ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 7);
      return {{"turns", Value(Tensor::Of<int64_t>({}, {turns}))}, {"x", Value(std::move(x))}};
    };
    absl::StatusOr<Model> model = testing::ModelFromText(each.model);
    ASSERT_TRUE(model.ok()) << model.status();
    SessionOptions options;
    options.provider = "cuda";
    options.memory = std::make_shared<MemoryLimit>(16 << 20);
    const auto device = Session::Create(*std::move(model), options);
    const auto host = SessionOn("cpu", each.model);
    ASSERT_TRUE(device.ok() && host != nullptr) << device.status();
    const int64_t before = Counted().bytes;
    for (int i = 0; i < 2; ++i) {
      const absl::Status refused = (*device)->Run(inputs(each.turns, each.n)).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
      EXPECT_THAT(refused.ToString(), ::testing::HasSubstr("[Loop "));
      EXPECT_THAT(refused.ToString(), ::testing::HasSubstr("limit"));
      EXPECT_LE(Counted().bytes - before, 16 << 20);
      ExpectEqualOutputs(**device, *host, inputs(3, 50));
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
