// Sessions that share one compiled model, and runs that leave the threads to others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "onward/builder.h"
#include "onward/custom_ops.h"
#include "onward/functions.h"
#include "onward/session.h"

namespace onward::executors {
namespace {

constexpr int64_t kSize = 512;  // weights of a megabyte

std::unique_ptr<Session> Product(const SessionOptions& options = {}) {
  GraphBuilder builder("product");
  Tensor weights(DType::kFloat32, {kSize, kSize});
  for (int64_t i = 0; i < weights.num_elements(); ++i)
    weights.mutable_data<float>()[i] = static_cast<float>(i % 7) - 3;
  const Expr x = builder.Input("x", DType::kFloat32, {"n", kSize});
  builder.Output("y", expr::MatMul(x, builder.Constant(std::move(weights), "w")));
  auto model = builder.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

Session::Inputs Rows(int64_t n) {
  Tensor x(DType::kFloat32, {n, kSize});
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = static_cast<float>(i % 5);
  return {{"x", std::move(x)}};
}

std::vector<float> ProductOf(Session& session, int64_t n, const RunOptions& options = {}) {
  const auto outputs = session.Run(Rows(n), options);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  const auto y = outputs->at("y").tensor().span<float>();
  return {y.begin(), y.end()};
}

TEST(SharedSession, WeightsAreThereOnce) {
  auto first = Product();
  const std::vector<float> want = ProductOf(*first, 3);
  ASSERT_GT(first->memory().used(), kSize * kSize * 4);
  SessionOptions options;
  options.num_threads = 1;
  options.max_memory = 100 << 10;  // a tenth of the weights
  auto second = first->Share(options);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(ProductOf(**second, 3), want);
  EXPECT_LT((*second)->memory().used(), options.max_memory);
  EXPECT_EQ((*second)->Run(Rows(4096)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(first->Run(Rows(4096)).ok());
  first.reset();
  EXPECT_EQ(ProductOf(**second, 3), want);
}

TEST(SharedSession, RunsAtOneTimeWithOthers) {
  const auto first = Product();
  std::vector<std::vector<float>> want;
  for (int64_t n = 1; n <= 4; ++n) want.push_back(ProductOf(*first, n));
  std::vector<std::unique_ptr<Session>> sessions;
  SessionOptions options;
  options.num_threads = 2;
  for (int i = 0; i < 3; ++i) sessions.push_back(*first->Share(options));
  std::vector<std::thread> callers;
  for (const auto& session : sessions) {
    callers.emplace_back([&] {
      for (int run = 0; run < 20; ++run)
        EXPECT_EQ(ProductOf(*session, 1 + run % 4), want[static_cast<size_t>(run % 4)]);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(SharedSession, RecordsForItselfAlone) {
  const auto first = Product();
  SessionOptions options;
  options.profile = true;
  const auto second = first->Share(options);
  ASSERT_TRUE(second.ok()) << second.status();
  ProductOf(*first, 1);
  EXPECT_FALSE((*second)->RecordedPeak());
  ProductOf(**second, 1);
  EXPECT_TRUE((*second)->RecordedPeak());
  EXPECT_FALSE(first->RecordedPeak());
  EXPECT_THAT((*second)->inputs()[0].name, first->inputs()[0].name);
}

// Gives the number of threads that its run has.
class ThreadsKernel : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int threads = context.pool() == nullptr ? 1 : context.pool()->num_threads();
    context.out<float>(0)[0] = static_cast<float>(threads);
    return absl::OkStatus();
  }
};

TEST(RunPriority, RunsInTheBackgroundTakeNoThreadsOfOthers) {
  ASSERT_TRUE(
      RegisterCustomOp(
          {.domain = "test.priority",
           .signature = "Threads (X: T) -> (Y: T) where T = float",
           .formula = [](const FormulaCall& call) -> std::vector<Expr> { return {call.input(0)}; },
           .kernels = {{"cpu", "threads",
                        [](const NodeSpec&) -> absl::StatusOr<std::unique_ptr<Kernel>> {
                          return std::make_unique<ThreadsKernel>();
                        }}}})
          .ok());
  GraphBuilder builder("threads");
  const Expr x = builder.Input("x", DType::kFloat32, {1});
  builder.Output("y", expr::Op("Threads", {x}, {}, "test.priority"));
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  SessionOptions options;
  options.num_threads = 3;
  auto session = Session::Create(*std::move(model), options);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const auto& [priority, threads] :
       {std::pair{RunPriority::kNormal, 3.0f}, std::pair{RunPriority::kBackground, 1.0f},
        std::pair{RunPriority::kNormal, 3.0f}}) {
    const auto outputs =
        (*session)->Run({{"x", Tensor::Of<float>({1}, {0})}}, {.priority = priority});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(outputs->at("y").tensor().data<float>()[0], threads);
  }
  const auto product = Product();
  EXPECT_EQ(ProductOf(*product, 64, {.priority = RunPriority::kBackground}),
            ProductOf(*product, 64));
}

}  // namespace
}  // namespace onward::executors
