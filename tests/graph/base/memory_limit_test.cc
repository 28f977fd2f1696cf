#include "onward/memory_limit.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "graph/base/machine_memory.h"
#include "gtest/gtest.h"
#include "onward/tensor.h"

namespace onward {
namespace {

TEST(MemoryLimitTest, CountsUntilItIsFreed) {
  auto limit = std::make_shared<MemoryLimit>(1000);
  const MemoryScope scope(limit);
  absl::StatusOr<Tensor> first = Tensor::Create(DType::kFloat32, {128});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(limit->used(), 512);
  const absl::StatusOr<Tensor> second = Tensor::Create(DType::kFloat32, {128});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(limit->used(), 512);
  Tensor shared = *first;
  *first = Tensor();
  EXPECT_EQ(limit->used(), 512);
  std::thread([tensor = std::move(shared)] {}).join();
  EXPECT_EQ(limit->used(), 0);
}

TEST(MemoryLimitTest, ConstructorsThrow) {
  auto limit = std::make_shared<MemoryLimit>(1000);
  const MemoryScope scope(limit);
  EXPECT_THROW(Tensor(DType::kString, {100}), OutOfMemory);
  EXPECT_THROW(Tensor(DType::kFloat64, {1000}), std::bad_alloc);
  EXPECT_EQ(limit->used(), 0);
  Tensor(DType::kString, {10});
  EXPECT_EQ(limit->used(), 0);
}

TEST(MemoryLimitTest, CheckingTakesNothing) {
  auto limit = std::make_shared<MemoryLimit>(1000);
  const MemoryScope scope(limit);
  EXPECT_TRUE(CheckMemory(1000).ok());
  EXPECT_EQ(limit->used(), 0);
  EXPECT_EQ(CheckMemory(1001).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CheckMemory(-1).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(limit->used(), 0);
}

TEST(MemoryLimitTest, ScopesNest) {
  auto outer = std::make_shared<MemoryLimit>(1 << 20), inner = std::make_shared<MemoryLimit>(100);
  const MemoryScope scope(outer);
  {
    const MemoryScope nested(inner);
    EXPECT_FALSE(Tensor::Create(DType::kUint8, {1000}).ok());
  }
  EXPECT_TRUE(Tensor::Create(DType::kUint8, {1000}).ok());
}

TEST(MemoryLimitTest, RemembersThePeak) {
  auto limit = std::make_shared<MemoryLimit>(1 << 20);
  const MemoryScope scope(limit);
  const Tensor kept(DType::kUint8, {1024});
  { const Tensor passing(DType::kUint8, {4096}); }
  EXPECT_EQ(limit->used(), 1024);
  EXPECT_EQ(limit->peak(), 5120);
  ASSERT_TRUE(CheckMemory(8192).ok());
  EXPECT_FALSE(Tensor::Create(DType::kUint8, {2 << 20}).ok());
  EXPECT_EQ(limit->peak(), 5120);
  limit->ResetPeak();
  EXPECT_EQ(limit->peak(), 1024);
}

TEST(MemoryLimitTest, CountsWhatOthersKeep) {
  auto limit = std::make_shared<MemoryLimit>(1000);
  const MemoryScope scope(limit);
  auto file = std::make_shared<int>(7);
  auto owner = CountMemory(800, file);
  ASSERT_TRUE(owner.ok());
  EXPECT_EQ(limit->used(), 800);
  EXPECT_EQ(CountMemory(300, file).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(limit->used(), 800);
  EXPECT_EQ(file.use_count(), 2);
  owner->reset();
  EXPECT_EQ(limit->used(), 0);
  EXPECT_EQ(file.use_count(), 1);
}

TEST(MemoryLimitTest, WhatNoMachineHasIsRefusedWithoutALimit) {
  EXPECT_EQ(Tensor::Create(DType::kUint8, {MachineMemory() + 1}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Create(DType::kUint8, {int64_t{1} << 59}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(MemoryLimitTest, WhatOthersHoldIsRefused) {
  EXPECT_GT(AvailableMemory(), 0);
  EXPECT_LT(AvailableMemory(), MachineMemory());
  auto limit = std::make_shared<MemoryLimit>(INT64_MAX);
  for (const bool limited : {false, true}) {
    const MemoryScope scope(limited ? limit : nullptr);
    const auto tensor = Tensor::Create(DType::kUint8, {MachineMemory()});
    EXPECT_EQ(tensor.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(tensor.status().message().find("are free"), std::string::npos) << tensor.status();
  }
  EXPECT_EQ(limit->used(), 0);
}

TEST(MemoryLimitTest, WhatIsPromisedIsNotPromisedTwice) {
  const int64_t most = AvailableMemory() / 5 * 3;
  auto limit = std::make_shared<MemoryLimit>(INT64_MAX);
  for (const bool limited : {false, true}) {
    const MemoryScope scope(limited ? limit : nullptr);
    absl::StatusOr<Tensor> first = Tensor::Create(DType::kUint8, {most});
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(Tensor::Create(DType::kUint8, {most}).status().code(),
              absl::StatusCode::kResourceExhausted);
    *first = Tensor();
    EXPECT_TRUE(Tensor::Create(DType::kUint8, {most}).ok());
  }
}

TEST(MemoryLimitTest, ThreadsDoNotPromiseTheSameMemory) {
  const int64_t most = AvailableMemory() / 5 * 3;
  std::vector<absl::StatusOr<Tensor>> tensors(4);
  std::vector<std::thread> threads;
  for (absl::StatusOr<Tensor>& tensor : tensors)
    threads.emplace_back([&tensor, most] { tensor = Tensor::Create(DType::kUint8, {most}); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count_if(tensors.begin(), tensors.end(), [](const auto& t) { return t.ok(); }), 1);
}

TEST(MemoryLimitTest, AShortageReleasesWhatIsKept) {
  auto limit = std::make_shared<MemoryLimit>(1000);
  const MemoryScope scope(limit);
  std::vector<Tensor> kept = {Tensor(DType::kUint8, {640})};
  int calls = 0;
  std::shared_ptr<void> registered = limit->OnShortage([&] {
    ++calls;
    kept.clear();
  });
  EXPECT_TRUE(Tensor::Create(DType::kUint8, {256}).ok());
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(Tensor::Create(DType::kUint8, {960}).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(Tensor::Create(DType::kUint8, {1100}).ok());
  EXPECT_EQ(calls, 1) << "no release helps there";
  registered.reset();
  kept.emplace_back(DType::kUint8, Dims{640});
  EXPECT_FALSE(Tensor::Create(DType::kUint8, {640}).ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace onward
