// Bodies of If, Loop and Scan on the device: the CPU's results, and values that stay there from
// turn to turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "executors/plan/place.h"
#include "tests/emulated_cuda/compared_session.h"
#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {
namespace {

Tensor Numbers(const Dims& dims, int64_t seed) {
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = static_cast<float>((i * 7 + seed) * 37 % 101 - 50) / 100;
  return tensor;
}

Value Turns(int64_t count) { return Value(Tensor::Of<int64_t>({}, {count})); }

// A state through a product with a weight; every turn's state is stacked; the number of turns is
// the host's.
constexpr char kLoop[] =
    "g (int64 turns, float[2, 3] x) => (float[2, 3] y, float[n, 2, 3] all) "
    "<float[3, 3] w = {0.5, 1, 0, -1, 0.25, 1, 0.5, 0.5, -0.5}, bool go = {1}> {"
    "start = Neg (x)"
    "y, all = Loop (turns, go, start) <body = b (int64 i, bool c, float[2, 3] s) => "
    "(bool d, float[2, 3] t, float[2, 3] u) {"
    "  d = Identity (c) p = MatMul (s, w) q = Add (p, x) t = Tanh (q) u = Neg (t) }> }";

// The device decides when to stop, and a count is carried on the host.
constexpr char kWhile[] =
    "g (float[4] x) => (float[4] y, int64 n) <int64 zero = {0}, bool go = {1}, float most = {3}> {"
    "a = Abs (x)"
    "y, n = Loop (, go, a, zero) <body = b (int64 i, bool c, float[4] s, int64 k) => "
    "(bool d, float[4] t, int64 m) {"
    "  one = Constant <value_int = 1> () t = Add (s, a) sum = ReduceSum <keepdims = 0> (t)"
    "  d = Less (sum, most) m = Add (k, one) }> }";

// The two carried values change their places.
constexpr char kSwap[] =
    "g (int64 turns, float[3] a, float[3] b) => (float[3] y, float[3] z) <bool go = {1}> {"
    "y, z = Loop (turns, go, a, b) <body = l (int64 i, bool c, float[3] s, float[3] t) => "
    "(bool d, float[3] t2, float[3] s2) {"
    "  d = Identity (c) t2 = Identity (t) s2 = Sub (s, t) }> }";

// Scanned and stacked along inner axes and backwards.
constexpr char kScan[] =
    "g (float[2, 5, 3] x, float[2, 3] h) => (float[2, 3] y, float[2, 5, 3] all) "
    "{ y, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], "
    "scan_output_axes = [1], scan_output_directions = [1], body = b (float[2, 3] s, float[2, 3] e) "
    "=> (float[2, 3] t, float[2, 3] u) { p = Mul (s, e) t = Tanh (p) u = Add (t, e) }> (h, x) }";

// A branch within a loop, which captures what lies outside both.
constexpr char kNested[] =
    "g (int64 turns, float[2, 3] x) => (float[2, 3] y) <bool go = {1}, int64 two = {2}> {"
    "far = Exp (x)"
    "y = Loop (turns, go, x) <body = b (int64 i, bool c, float[2, 3] s) => "
    "(bool d, float[2, 3] t) {"
    "  d = Identity (c) r = Mod (i, two) zero = Constant <value_int = 0> () even = Equal (r, zero)"
    "  t = If (even) <then_branch = p () => (float[2, 3] u) { v = Sin (s) u = Add (v, far) },"
    "                 else_branch = q () => (float[2, 3] o) { w = Neg (s) o = Mul (w, far) }> }> }";

struct Case {
  const char* text;
  Session::Inputs inputs;
};

std::vector<Case> Cases(int64_t turns) {
  const Value x(Numbers({2, 3}, 1));
  return {{kLoop, {{"turns", Turns(turns)}, {"x", x}}},
          {kWhile, {{"x", Value(Numbers({4}, turns))}}},
          {kSwap,
           {{"turns", Turns(turns)}, {"a", Value(Numbers({3}, 1))}, {"b", Value(Numbers({3}, 2))}}},
          {kScan, {{"x", Value(Numbers({2, 5, 3}, turns))}, {"h", Value(Numbers({2, 3}, 2))}}},
          {kNested, {{"turns", Turns(turns)}, {"x", x}}}};
}

class BodiesTest : public ::testing::TestWithParam<Settings> {
 protected:
  void SetUp() override { Configure(GetParam()); }
  void TearDown() override { Configure({}); }
};

TEST_P(BodiesTest, EqualTheCpu) {
  for (size_t c = 0; c < Cases(1).size(); ++c) {
    SCOPED_TRACE(Cases(1)[c].text);
    const auto device = SessionOn("cuda", Cases(1)[c].text);
    const auto host = SessionOn("cpu", Cases(1)[c].text);
    ASSERT_TRUE(device != nullptr && host != nullptr);
    for (const int64_t turns : {3, 8, 0, 1, 8, 2}) {
      const Session::Inputs inputs = Cases(turns)[c].inputs;
      const auto expected = host->Run(inputs), actual = device->Run(inputs);
      ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
      for (const auto& [name, value] : *expected) {
        EXPECT_EQ(testing::Difference(actual->at(name).tensor(), value.tensor(), 1e-5, 1e-5), "")
            << name << " after " << turns;
      }
    }
  }
}

// Copies of a run, once steady.
Counters CopiesOf(const char* text, const Session::Inputs& inputs) {
  const auto device = SessionOn("cuda", text);
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(device->Run(inputs).ok());
  ResetCounters();
  EXPECT_TRUE(device->Run(inputs).ok());
  return Counted();
}

TEST_P(BodiesTest, ValuesStayOnTheDeviceFromTurnToTurn) {
  for (const size_t c : {0, 2, 4}) {
    SCOPED_TRACE(Cases(1)[c].text);
    const Counters few = CopiesOf(Cases(3)[c].text, Cases(3)[c].inputs);
    const Counters many = CopiesOf(Cases(40)[c].text, Cases(40)[c].inputs);
    EXPECT_EQ(few.copies_to_host, many.copies_to_host);
    EXPECT_EQ(few.copies_to_device, many.copies_to_device);
    EXPECT_EQ(many.allocations, 0);
  }
  const Counters scan = CopiesOf(kScan, Cases(1)[3].inputs);
  EXPECT_EQ(scan.copies_to_device, 2) << "the inputs";
  EXPECT_EQ(scan.copies_to_host, 2) << "the outputs";
}

// A condition of the device is fetched in each turn, and nothing else.
TEST_P(BodiesTest, AConditionIsFetched) {
  const auto host = SessionOn("cpu", kWhile);
  const Session::Inputs inputs = {{"x", Value(Numbers({4}, 3))}};
  const auto expected = host->Run(inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const int64_t turns = *expected->at("n").tensor().data<int64_t>();
  const Counters copies = CopiesOf(kWhile, inputs);
  EXPECT_EQ(copies.copies_to_device, 1);
  EXPECT_EQ(copies.copies_to_host, turns + 1);
}

TEST_P(BodiesTest, AFaultNamesTheNodeAndItsLoop) {
  const char* const model =
      "g (int64 turns, float[4] x, int64[2] at) => (float[2] y) <bool go = {1}> {"
      "start = Gather (x, at) y = Loop (turns, go, start) <body = b (int64 i, bool c, float[2] s)"
      "=> (bool d, float[2] t) { d = Identity (c) four = Constant <value_int = 4> ()"
      "far = Add (at, i) u = Gather (x, far) t = Add (s, u) }> }";
  const auto device = SessionOn("cuda", model);
  ASSERT_NE(device, nullptr);
  Session::Inputs inputs = {{"turns", Turns(3)},
                            {"x", Value(Numbers({4}, 1))},
                            {"at", Value(Tensor::Of<int64_t>({2}, {0, 1}))}};
  ASSERT_TRUE(device->Run(inputs).ok());
  inputs.at("turns") = Turns(200);
  const absl::Status status = device->Run(inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.ToString(), ::testing::StartsWith("INVALID_ARGUMENT: [Loop 'y"));
  EXPECT_THAT(status.ToString(), ::testing::HasSubstr("[Gather 'u'] index 4 at position 1 "));
  EXPECT_THAT(status.ToString(), ::testing::HasSubstr("is out of range for an axis of size 4"));
  inputs.at("turns") = Turns(2);
  EXPECT_TRUE(device->Run(inputs).ok());
}

INSTANTIATE_TEST_SUITE_P(Orders, BodiesTest,
                         ::testing::Values(Settings{}, Settings{.order = Order::kLate},
                                           Settings{.order = Order::kRandom, .seed = 1},
                                           Settings{.order = Order::kRandom, .seed = 2}));

TEST(EmulatedBodies, AreExplained) {
  const auto device = SessionOn("cuda", kNested);
  ASSERT_NE(device, nullptr);
  int in_bodies = 0;
  for (const NodeExplanation& node : device->Explain()) {
    if (node.node.find("body: ") == std::string::npos) continue;
    in_bodies += node.provider == "cuda";
  }
  EXPECT_GE(in_bodies, 5) << "If and the nodes of its branches";
  EXPECT_EQ(executors::CountCrossings(device->graph()).in_bodies, 0);
}

}  // namespace
}  // namespace onward::emulated_cuda
