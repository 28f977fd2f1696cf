// Sessions that share threads, also while they run at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "onward/session.h"
#include "onward/thread_pool.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using testing::ModelFromText;

Tensor Ones(int64_t n, float value) {
  Tensor tensor(DType::kFloat32, {n, n});
  std::fill_n(tensor.mutable_data<float>(), n * n, value);
  return tensor;
}

TEST(SharedPoolTest, SessionsThatRunAtATimeAreRight) {
  SessionOptions options;
  options.pool = std::make_shared<ThreadPool>(3);
  options.num_threads = 1;  // the pool's number counts
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<Model> model = ModelFromText(
        "g (float[n,n] x, float[n,n] y) => (float[n,n] z) { t = MatMul (x, y) z = Relu (t) }");
    ASSERT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), options);
    ASSERT_TRUE(session.ok()) << session.status();
    sessions.push_back(*std::move(session));
  }
  EXPECT_GE(options.pool.use_count(), 4);
  constexpr int64_t kSize = 96;
  std::vector<std::thread> callers;
  std::vector<int> wrong(sessions.size(), 0);
  for (size_t i = 0; i < sessions.size(); ++i) {
    callers.emplace_back([&, i] {
      const float value = static_cast<float>(i + 1);
      for (int run = 0; run < 20; ++run) {
        const auto outputs = sessions[i]->Run({{"x", Ones(kSize, value)}, {"y", Ones(kSize, 1)}});
        if (!outputs.ok()) {
          ++wrong[i];
          continue;
        }
        const absl::Span<const float> z = outputs->at("z").tensor().span<float>();
        wrong[i] += !std::all_of(z.begin(), z.end(),
                                 [&](float element) { return element == value * kSize; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, std::vector<int>(sessions.size(), 0));
}

}  // namespace
}  // namespace onward::executors
