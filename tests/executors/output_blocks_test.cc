#include "executors/output_blocks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "onward/builder.h"
#include "onward/memory_limit.h"
#include "onward/session.h"

namespace onward::executors {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBytes = 1 << 20;

TEST(OutputBlocksTest, AreUsedAgain) {
  const auto blocks = std::make_shared<OutputBlocks>();
  std::shared_ptr<void> first = *blocks->Take(kBytes), second = *blocks->Take(kBytes);
  const void* data = first.get();
  EXPECT_NE(data, second.get());
  first.reset();
  EXPECT_EQ((*blocks->Take(kBytes)).get(), data);
  EXPECT_EQ((*blocks->Take(kBytes)).get(), data);
}

TEST(OutputBlocksTest, OutliveWhatLentThem) {
  auto blocks = std::make_shared<OutputBlocks>();
  const std::shared_ptr<void> block = *blocks->Take(kBytes);
  blocks.reset();
  static_cast<char*>(block.get())[kBytes - 1] = 1;
}

// Outputs whose sizes change leave no more behind than callers held at once.
TEST(OutputBlocksTest, AreBoundedByWhatWasHeldAtOnce) {
  const auto limit = std::make_shared<MemoryLimit>(int64_t{1} << 30);
  const MemoryScope scope(limit);
  const auto blocks = std::make_shared<OutputBlocks>();
  for (int64_t i = 0; i < 100; ++i) {
    const std::shared_ptr<void> key = *blocks->Take(kBytes + i * 256);
    const std::shared_ptr<void> value = *blocks->Take(kBytes + i * 256);
    EXPECT_LE(limit->used(), 2 * kBytes + i * 512) << i;
  }
}

TEST(OutputBlocksTest, AreFreedOnceTheyAreUnused) {
  const auto limit = std::make_shared<MemoryLimit>(int64_t{1} << 30);
  const MemoryScope scope(limit);
  const auto blocks = std::make_shared<OutputBlocks>();
  const Clock::time_point before = Clock::now();
  (*blocks->Take(kBytes)).reset();
  blocks->Release(before);
  EXPECT_EQ(limit->used(), kBytes) << "it was used since";
  blocks->Release(Clock::now() + std::chrono::seconds(1));
  EXPECT_EQ(limit->used(), 0);
}

TEST(OutputBlocksTest, AreLentToSeveralThreads) {
  const auto blocks = std::make_shared<OutputBlocks>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        const std::shared_ptr<void> block = *blocks->Take(kBytes);
        auto* data = static_cast<volatile char*>(block.get());
        data[0] = static_cast<char>(t);
        EXPECT_EQ(data[0], static_cast<char>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A large output of a run lies where that of the run before did, once the caller dropped it.
TEST(OutputBlocksTest, ServeASessionsOutputs) {
  GraphBuilder b;
  b.Output("y", b.Op("Neg", {b.Input("x", DType::kFloat32, {"n"})}));
  SessionOptions options;
  options.num_threads = 1;
  auto session = Session::Create(*b.Build(), options);
  ASSERT_TRUE(session.ok()) << session.status();
  const Session::Inputs inputs = {{"x", Value(Tensor::Full<float>({1 << 16}, 1))}};
  const auto address = [&] {
    const absl::StatusOr<Session::Outputs> outputs = (*session)->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs->at("y").tensor().raw_data();
  };
  const void* first = address();
  EXPECT_EQ(address(), first);
  const absl::StatusOr<Session::Outputs> held = (*session)->Run(inputs);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_NE(address(), held->at("y").tensor().raw_data());
}

}  // namespace
}  // namespace onward::executors
