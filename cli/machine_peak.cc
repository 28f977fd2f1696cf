#include "cli/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "kernels/cpu/thread_pool.h"

namespace onward::cli {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The thread sanitizer is not there yet when the loader chooses among clones.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define ONWARD_CLONES \
  __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define ONWARD_CLONES
#endif

// 24 chains of 16 floats: enough independent multiply-adds to hide their latency, few enough to
// stay in registers.
constexpr int kChains = 24;
constexpr int kLanes = 16;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

ONWARD_CLONES void MultiplyAdd(int64_t rounds, float factor, float* result) {
  Lanes sums[kChains] = {};
  Lanes x = {}, y = {};
  x += factor;
  y += 1 - factor;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 24
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = sums[chain] * x + y;
  }
  for (int chain = 1; chain < kChains; ++chain) sums[0] += sums[chain];
  for (int lane = 0; lane < kLanes; ++lane) *result += sums[0][lane];
}

ONWARD_CLONES uint64_t Sum(const uint64_t* data, int64_t count) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += data[i];
  return sum;
}

}  // namespace

MachinePeak MeasurePeak(int threads) {
  ThreadPool pool(threads);
  MachinePeak peak;
  std::vector<float> sink(static_cast<size_t>(threads) * 16);
  constexpr int64_t kRounds = 40000;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto begin = Clock::now();
    pool.ParallelFor(threads * 8, 1, [&](int worker, int64_t, int64_t) {
      MultiplyAdd(kRounds, 0.5f, &sink[static_cast<size_t>(worker) * 16]);
    });
    const double flops = 2.0 * kChains * kLanes * kRounds * threads * 8;
    peak.gflops = std::max(peak.gflops, flops / Seconds(begin) * 1e-9);
  }
  constexpr int64_t kWords = int64_t{1} << 24;  // 128 MB
  std::vector<uint64_t> memory(kWords, 1);
  std::vector<uint64_t> sums(static_cast<size_t>(threads) * 8);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto begin = Clock::now();
    pool.ParallelFor(kWords, kWords / 64, [&](int worker, int64_t from, int64_t to) {
      sums[static_cast<size_t>(worker) * 8] += Sum(memory.data() + from, to - from);
    });
    peak.gbytes = std::max(peak.gbytes, 8.0 * kWords / Seconds(begin) * 1e-9);
  }
  return peak;
}

}  // namespace onward::cli
