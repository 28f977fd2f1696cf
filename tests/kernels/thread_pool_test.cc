#include "onward/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace onward::kernels {
namespace {

TEST(ThreadPool, EveryChunkRunsOnce) {
  ThreadPool pool(4);
  for (int64_t count : {0, 1, 7, 64, 1000}) {
    for (int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.ParallelFor(count, grain, [&](int worker, int64_t begin, int64_t end) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, 4);
        EXPECT_LE(end - begin, grain);
        EXPECT_EQ(begin % grain, 0);
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      for (const auto& hit : hits) ASSERT_EQ(hit, 1);
    }
  }
}

TEST(ThreadPool, LoopsFromManyThreadsAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 500; ++repeat) {
        pool.ParallelFor(100, 7, [&](int, int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 500 * 100);
}

TEST(ThreadPool, LoopsInsideLoops) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(8, 1, [&](int, int64_t, int64_t) {
    pool.ParallelFor(10, 1, [&](int, int64_t begin, int64_t end) { sum += end - begin; });
  });
  EXPECT_EQ(sum, 80);
}

TEST(ThreadPool, IdlePoolUsesNoCpu) {
  ThreadPool pool(4);
  pool.ParallelFor(100, 1, [](int, int64_t, int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  getrusage(RUSAGE_SELF, &after);
  const auto micros = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  EXPECT_LT(micros(after) - micros(before), 20000);
}

}  // namespace
}  // namespace onward::kernels
