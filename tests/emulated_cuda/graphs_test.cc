// Runs of which a device does the same work again: recorded once, then started as a whole.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/emulated_cuda/compared_session.h"
#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {
namespace {

// Dropout with a seed runs on the host: two stretches of the device's work, of three steps and
// more.
constexpr char kModel[] =
    "g (float[n, 4] x) => (float[n, 4] y) <float[4, 4] w = {1,2,3,4, 4,3,2,1, 1,-1,1,-1, 0,2,0,2}, "
    "float ratio = {0}, bool training = {1}> {"
    "a = MatMul (x, w) b = Softmax (a) c = MatMul (b, w)"
    "m = Dropout <seed = 1> (c, ratio, training)"
    "d = MatMul (m, w) e = Softmax (d) y = MatMul (e, w) }";

Session::Inputs InputsOf(int64_t rows, int64_t seed) {
  Tensor x(DType::kFloat32, {rows, 4});
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = static_cast<float>((i + seed) * 37 % 101) / 50;
  return {{"x", Value(x)}};
}

void ExpectEqualRuns(Session& device, Session& host, int64_t rows, int64_t seed) {
  ExpectEqualOutputs(device, host, InputsOf(rows, seed));
}

class GraphsTest : public ::testing::TestWithParam<Settings> {
 protected:
  void SetUp() override { Configure(GetParam()); }
  void TearDown() override { Configure({}); }
};

TEST_P(GraphsTest, EqualTheCpuForEveryInput) {
  const auto device = SessionOn("cuda", kModel), host = SessionOn("cpu", kModel);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (int64_t run = 0; run < 6; ++run) ExpectEqualRuns(*device, *host, 3, run);
  EXPECT_EQ(Counted().graph_launches, 2 * 5);
}

TEST_P(GraphsTest, AreMadeAnewForOtherShapes) {
  const auto device = SessionOn("cuda", kModel), host = SessionOn("cpu", kModel);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (const int64_t rows : {2, 2, 2, 7, 7, 7, 1, 2, 2, 2})
    ExpectEqualRuns(*device, *host, rows, rows);
}

TEST_P(GraphsTest, SteadyRunsMakeNothing) {
  const auto device = SessionOn("cuda", kModel);
  ASSERT_NE(device, nullptr);
  for (int64_t run = 0; run < 2; ++run) ASSERT_TRUE(device->Run(InputsOf(3, run)).ok());
  ResetCounters();
  ASSERT_TRUE(device->Run(InputsOf(3, 5)).ok());
  const Counters counted = Counted();
  EXPECT_EQ(counted.graph_launches, 2);
  EXPECT_EQ(counted.graphs, 0);
  EXPECT_EQ(counted.descriptors, 0);
  EXPECT_EQ(counted.heuristics, 0);
  EXPECT_EQ(counted.allocations, 0);
  EXPECT_EQ(counted.copies_to_device, 2);
  EXPECT_EQ(counted.copies_to_host, 2);
  EXPECT_EQ(counted.synchronizations, 2) << "one for what each copy brings to the host";
}

TEST_P(GraphsTest, ATraceSeesEachStep) {
  const auto device = SessionOn("cuda", kModel), host = SessionOn("cpu", kModel);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (int64_t run = 0; run < 3; ++run) ExpectEqualRuns(*device, *host, 3, run);
  Trace trace;
  RunOptions options;
  options.trace = &trace;
  ResetCounters();
  ASSERT_TRUE(device->Run(InputsOf(3, 4), options).ok());
  EXPECT_EQ(Counted().graph_launches, 0);
  EXPECT_GE(trace.events().size(), 11u);
  ExpectEqualRuns(*device, *host, 3, 5);
  EXPECT_EQ(Counted().graph_launches, 2);
}

// Numbers differ from run to run, and between the parts of a batch.
TEST_P(GraphsTest, RandomStepsAreRecordedAndDrawWhatTheCpuDraws) {
  const char* const model =
      "g (float[n, 4] x) => (float[n, 4] y) <float ratio = {0.4}, bool training = {1}> {"
      "a = Tanh (x) b, mask = Dropout (a, ratio, training) r = RandomNormalLike (b)"
      "c = Add (b, r) y = Neg (c) }";
  const auto device = SessionOn("cuda", model), host = SessionOn("cpu", model);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (int64_t run = 0; run < 5; ++run) ExpectEqualRuns(*device, *host, 3, run);
  EXPECT_EQ(Counted().graph_launches, 4);
  EXPECT_EQ(Counted().graphs, 1);
  for (const int64_t begin : {0, 3, 3, 0, 6, 6}) {
    RunOptions options;
    options.batch_slice = {.begin = begin, .rows = 3, .whole = 9};
    options.run_index = 40 + begin;
    const auto actual = device->Run(InputsOf(3, 1), options);
    const auto expected = host->Run(InputsOf(3, 1), options);
    ASSERT_TRUE(actual.ok() && expected.ok()) << actual.status() << expected.status();
    EXPECT_EQ(testing::Difference(actual->at("y").tensor(), expected->at("y").tensor(), 1e-5, 1e-5),
              "")
        << begin;
  }
}

// Indices that follow from dims are known before the run and are sent once for these dims.
TEST_P(GraphsTest, WhatFollowsFromDimsIsNotSentInEachRun) {
  const char* const model =
      "g (float[n, 4] x) => (float[m, 4] y) <int64 zero = {0}, int64 one = {1}> {"
      "s = Shape <end = 1> (x) n = Squeeze (s) r = Range (zero, n, one)"
      "a = Tanh (x) b = Exp (a) c = Neg (b) d = Gather (c, r) e = Sin (d) f = Exp (e)"
      "y = Neg (f) }";
  const auto device = SessionOn("cuda", model), host = SessionOn("cpu", model);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (int64_t run = 0; run < 3; ++run) ExpectEqualRuns(*device, *host, 5, run);
  EXPECT_EQ(Counted().graph_launches, 2);
  EXPECT_EQ(Counted().copies_to_device, 1 + 3) << "the indices, and x in each run";
  for (const int64_t rows : {7, 2, 7}) ExpectEqualRuns(*device, *host, rows, rows);
}

// Steps that cannot be recorded run as before.
TEST_P(GraphsTest, FailedRecordingsLeaveRunsAsTheyWere) {
  for (const char* call : {"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate",
                           "cublasLtMatmulDescCreate"}) {
    SCOPED_TRACE(call);
    Configure(GetParam());
    const auto device = SessionOn("cuda", kModel), host = SessionOn("cpu", kModel);
    ASSERT_TRUE(device->Run(InputsOf(3, 0)).ok());
    Settings settings = GetParam();
    settings.fail_call = call;
    settings.fail_at = 1;
    Configure(settings);
    for (int64_t run = 1; run < 4; ++run) ExpectEqualRuns(*device, *host, 3, run);
    EXPECT_EQ(Counted().graph_launches, 3) << "the other stretch is recorded";
  }
}

TEST_P(GraphsTest, AFailedStartNamesTheWorkAndTheNextRunIsRight) {
  const auto device = SessionOn("cuda", kModel), host = SessionOn("cpu", kModel);
  for (int64_t run = 0; run < 2; ++run) ASSERT_TRUE(device->Run(InputsOf(3, run)).ok());
  Settings settings = GetParam();
  settings.fail_call = "cudaGraphLaunch";
  settings.fail_at = 2;
  settings.fail_with = cudaErrorLaunchFailure;
  Configure(settings);
  const absl::Status status = device->Run(InputsOf(3, 2)).status();
  EXPECT_NE(status.message().find("MatMul"), std::string::npos) << status;
  EXPECT_NE(status.message().find("unspecified launch failure"), std::string::npos) << status;
  ExpectEqualRuns(*device, *host, 3, 3);
}

INSTANTIATE_TEST_SUITE_P(Orders, GraphsTest,
                         ::testing::Values(Settings{}, Settings{.order = Order::kLate},
                                           Settings{.order = Order::kRandom, .seed = 1},
                                           Settings{.order = Order::kRandom, .seed = 2}));

}  // namespace
}  // namespace onward::emulated_cuda
