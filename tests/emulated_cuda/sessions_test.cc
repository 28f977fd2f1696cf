// Sessions of the CUDA provider on the emulated device, against the CPU provider.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "executors/plan/place.h"
#include "executors/provider.h"
#include "onward/builder.h"
#include "onward/memory_limit.h"
#include "onward/session.h"
#include "tests/emulated_cuda/compared_session.h"
#include "tests/emulated_cuda/device.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/text_model.h"

namespace onward::emulated_cuda {
namespace {

using namespace expr;  // NOLINT: models as formulas

// A convolution, a pooling, products of one matrix and of several, elementwise ops, a branch that
// captures, and dims that are read.
constexpr char kModel[] =
    "g (bool c, float[n, 2, 8, 8] x) => (float[n, 4, 9] y) <float[4, 2, 3, 3] w = {"
    "1,2,3,4,5,6,7,8,9, 1,0,0,0,1,0,0,0,1, 0,1,0,1,-4,1,0,1,0, 2,2,2,2,2,2,2,2,2,"
    "1,2,1,0,0,0,-1,-2,-1, 1,0,-1,2,0,-2,1,0,-1, 0,0,0,0,3,0,0,0,0, 5,4,3,2,1,0,1,2,3},"
    "float[4] b = {1, -1, 0.5, 2}, float half = {0.5}, int64[1] zero = {0}> {"
    "conv = Conv (x, w, b) pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (conv)"
    "shape = Shape <end = 2> (pooled) minus = Constant <value_ints = [-1]> ()"
    "to = Concat <axis = 0> (shape, minus) flat = Reshape (pooled, to)"
    "turned = Transpose <perm = [0, 2, 1]> (flat) square = MatMul (flat, turned)"
    "scaled = Mul (square, half) mixed = MatMul (scaled, flat) soft = Tanh (mixed)"
    "y = If (c) <then_branch = t () => (float[n, 4, 9] p) { p = Neg (soft) },"
    "else_branch = e () => (float[n, 4, 9] q) { q = Exp (soft) }> }";

Session::Inputs InputsOf(int64_t batch) {
  Tensor x(DType::kFloat32, {batch, 2, 8, 8});
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = static_cast<float>(i * 37 % 101) / 5000;
  Tensor c(DType::kBool, Dims{});
  c.mutable_data<bool>()[0] = batch % 2 == 0;
  return {{"x", Value(x)}, {"c", Value(c)}};
}

void ExpectEqualRuns(Session& device, Session& host, int64_t batch) {
  ExpectEqualOutputs(device, host, InputsOf(batch));
}

class SessionsTest : public ::testing::TestWithParam<Settings> {
 protected:
  void SetUp() override { Configure(GetParam()); }
  void TearDown() override { Configure({}); }
};

TEST_P(SessionsTest, EqualTheCpu) {
  const auto device = SessionOn("cuda", kModel), host = SessionOn("cpu", kModel);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (const int64_t batch : {1, 2, 5, 2, 1}) ExpectEqualRuns(*device, *host, batch);
}

TEST_P(SessionsTest, ALaterRunAsksNoHeuristicAndAllocatesNothing) {
  const auto device = SessionOn("cuda", kModel);
  ASSERT_NE(device, nullptr);
  ASSERT_TRUE(device->Run(InputsOf(2)).ok());
  ResetCounters();
  ASSERT_TRUE(device->Run(InputsOf(2)).ok());
  const Counters counted = Counted();
  EXPECT_EQ(counted.heuristics, 0);
  EXPECT_EQ(counted.allocations, 0);
  EXPECT_EQ(counted.products, 2) << "one launch for all batches";
  EXPECT_EQ(counted.convolutions, 1);
}

TEST_P(SessionsTest, MemoryIsGivenBack) {
  const int64_t before = Counted().bytes;
  {
    const auto device = SessionOn("cuda", kModel);
    ASSERT_TRUE(device->Run(InputsOf(3)).ok());
    EXPECT_GT(Counted().bytes, before);
  }
  EXPECT_EQ(Counted().bytes, before);
}

INSTANTIATE_TEST_SUITE_P(Orders, SessionsTest,
                         ::testing::Values(Settings{}, Settings{.order = Order::kLate},
                                           Settings{.order = Order::kRandom, .seed = 1},
                                           Settings{.order = Order::kRandom, .seed = 2},
                                           Settings{.order = Order::kRandom, .seed = 3}));

// Each call fails once, at each of its times: the run says so, and the next one is right.
class FailingCallsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FailingCallsTest, AreStatusesAndLaterRunsAreRight) {
  Configure({});
  const auto host = SessionOn("cpu", kModel);
  int64_t failures = 0;
  for (int64_t at = 1; at <= 60; ++at) {
    SCOPED_TRACE(at);
    Configure({});
    const auto device = SessionOn("cuda", kModel);
    ASSERT_NE(device, nullptr);
    Settings settings;
    settings.fail_call = GetParam();
    settings.fail_at = at;
    settings.fail_with = cudaErrorMemoryAllocation;
    Configure(settings);
    const auto first = device->Run(InputsOf(2));
    if (first.ok()) break;
    ++failures;
    EXPECT_FALSE(first.status().message().empty());
    ExpectEqualRuns(*device, *host, 2);
  }
  EXPECT_GT(failures, 0) << "the call is not made";
  Configure({});
}

INSTANTIATE_TEST_SUITE_P(Calls, FailingCallsTest,
                         ::testing::Values("cudaMalloc", "cudaMemcpyAsync", "cudaLaunchKernelExC",
                                           "cudaStreamSynchronize", "cudaStreamCreateWithFlags",
                                           "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic",
                                           "cublasLtMatmulDescCreate", "cudnnBackendExecute",
                                           "cudnnBackendCreateDescriptor", "cudnnBackendFinalize",
                                           "cudnnPoolingForward"));

// Weights of 1 MiB, and values of 2 KiB for each row of x.
Model Layer() {
  GraphBuilder b("layer");
  const Expr x = b.Input("x", DType::kFloat32, {"rows", 512});
  b.Output("y", Tanh(MatMul(x, b.Constant(Tensor(DType::kFloat32, {512, 512}), "w"))));
  auto model = b.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(EmulatedCuda, MemoryOfTheDeviceCounts) {
  Configure({});
  int64_t used = 0;  // by the session alone
  const auto run = [&](int64_t most, int64_t rows) -> absl::Status {
    SessionOptions options;
    options.provider = "cuda";
    options.memory = std::make_shared<MemoryLimit>(most);
    auto session = Session::Create(Layer(), options);
    if (!session.ok()) return session.status();
    used = options.memory->used();
    const absl::Status status =
        (*session)->Run({{"x", Value(Tensor(DType::kFloat32, {rows, 512}))}}).status();
    session->reset();
    EXPECT_EQ(options.memory->used(), 0);
    return status;
  };
  EXPECT_TRUE(run(64 << 20, 64).ok());
  EXPECT_GE(used, 1 << 20) << "the weights";
  for (const absl::Status& refused : {run(512 << 10, 1), run(8 << 20, 4096)}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
    EXPECT_THAT(refused.ToString(), ::testing::HasSubstr("limit"));
  }
  EXPECT_TRUE(run(64 << 20, 64).ok());
}

// What cuDNN has no numbers for: the CPU's result, or an error that says what.
struct OddCase {
  const char* graph;
  Dims dims;
  const char* refusal;  // "": the CPU's result
};

TEST(EmulatedCuda, OddShapesAreRightOrRefused) {
  Configure({});
  const OddCase cases[] = {
      {"g (float[a, b] x) => (float[a, b] y) { y = Add (x, x) }", {0, 3}, ""},
      {"g (float[a, 0] x) => (float[a, 2] y) <float[2] c = {3, 4}> { s = Shape (x) "
       "empty = Constant <value_ints = [0, 2]> () f = Constant <value_float = 0.0> () "
       "w = Expand (f, empty) y = Gemm (x, w, c) }",
       {2, 0},
       ""},
      {"g (float[n, 1, 4, 4] x) => (float[n, 1, k, l] y) { y = MaxPool <kernel_shape = [2, 2], "
       "pads = [1, 1, 1, 1], strides = [4294967296, 4294967296]> (x) }",
       {1, 1, 4, 4},
       "the device takes windows"},
      {"g (float[n, c, h, w] x) => (float[n, c, 1, 1] y) { y = GlobalAveragePool (x) }",
       {1, 2, 0, 3},
       "the device takes images of 1 to 2^31 - 1 elements, these have 1x2x0x3"},
  };
  for (const OddCase& odd : cases) {
    SCOPED_TRACE(odd.graph);
    std::vector<absl::StatusOr<Session::Outputs>> results;
    for (const char* provider : {"cpu", "cuda"}) {
      absl::StatusOr<Model> model = testing::ModelFromText(odd.graph);
      ASSERT_TRUE(model.ok()) << model.status();
      SessionOptions options;
      options.provider = provider;
      auto session = Session::Create(*std::move(model), options);
      ASSERT_TRUE(session.ok()) << session.status();
      results.push_back((*session)->Run({{"x", Value(Tensor(DType::kFloat32, odd.dims))}}));
    }
    if (*odd.refusal == '\0') {
      ASSERT_TRUE(results[0].ok() && results[1].ok()) << results[0].status() << results[1].status();
      EXPECT_EQ(
          testing::Difference(results[1]->at("y").tensor(), results[0]->at("y").tensor(), 0, 0),
          "");
    } else {
      EXPECT_NE(results[1].status().message().find(odd.refusal), std::string::npos)
          << results[1].status();
    }
  }
}

TEST(EmulatedCudaDeathTest, AMachineWithoutADeviceSaysWhatToDo) {
  // The provider is looked for once in a process.
  EXPECT_EXIT(
      {
        Configure({.devices = 0});
        const absl::Status status = executors::FindProvider("cuda").status();
        std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
        std::exit(status.ok() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "no CUDA device is usable here .*; use --provider cpu");
}

// Unique runs on the host, between two ops that do not.
absl::StatusOr<std::unique_ptr<Session>> UniqueSession(const SessionOptions& options) {
  auto model = testing::ModelFromText(
      "g (float[2, 3] x) => (float[n] y) { a = Tanh (x) b = Unique (a) y = Exp (b) }");
  if (!model.ok()) return model.status();
  return Session::Create(*std::move(model), options);
}

void ExpectPlanWithoutDevice() {
  Configure({.devices = 0});
  SessionOptions options;
  options.provider = "cuda";
  EXPECT_EQ(UniqueSession(options).status().code(), absl::StatusCode::kFailedPrecondition);
  std::vector<std::string> log;
  options.log = [&](const LogRecord& record) { log.push_back(record.message); };
  options.plan_only = true;
  const auto session = UniqueSession(options);
  ASSERT_TRUE(session.ok()) << session.status();
  std::map<std::string, std::string> providers;
  for (const NodeExplanation& node : (*session)->Explain())
    providers[node.node.substr(0, node.node.find(' '))] = node.provider;
  EXPECT_EQ(providers["[Tanh"], "cuda");
  EXPECT_EQ(providers["[Unique"], "cpu");
  EXPECT_EQ(providers["[Exp"], "cuda");
  for (const NodeExplanation& node : (*session)->Explain()) {
    if (node.node.find("Unique") == std::string::npos) continue;
    EXPECT_EQ(node.refusals, std::vector<std::string>{"cuda: no kernel for this op"});
  }
  EXPECT_EQ(log, std::vector<std::string>{"nodes that run on the cpu, not on cuda: Unique 1"});
  const executors::Crossings crossings = executors::CountCrossings((*session)->graph());
  EXPECT_EQ(crossings.inputs, 1);
  EXPECT_EQ(crossings.within, 2);
  EXPECT_EQ(crossings.outputs, 1);
  const absl::Status run =
      (*session)->Run({{"x", Value(Tensor(DType::kFloat32, {2, 3}))}}).status();
  EXPECT_EQ(run.code(), absl::StatusCode::kFailedPrecondition) << run;
}

TEST(EmulatedCudaDeathTest, PlansNeedNoDevice) {
  EXPECT_EXIT(
      {
        ExpectPlanWithoutDevice();
        std::exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace onward::emulated_cuda
