#include "kernels/cpu/machine_peak.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/simd/int8_tile.h"
#include "kernels/cpu/simd/peak_loops.h"
#include "onward/memory_limit.h"
#include "onward/thread_pool.h"

namespace onward::kernels::cpu {
namespace {

// Seconds of processor time of the calling thread: other programs' turns do not count.
double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr double kRoundSeconds = 1.5e-3;
constexpr int64_t kSlice = 1024;  // threads' parts are multiples of it

// The most processor time that a thread needs for `work(thread)`, which all begin together.
double Together(ThreadPool& pool, const std::function<void(int)>& work) {
  const int threads = pool.num_threads();
  std::vector<double> seconds(static_cast<size_t>(threads));
  std::atomic<int> waiting{threads};
  pool.ParallelFor(threads, 1, [&](int, int64_t part, int64_t) {
    --waiting;
    while (waiting.load() > 0) {
    }
    const double begin = ThreadSeconds();
    work(static_cast<int>(part));
    seconds[static_cast<size_t>(part)] = ThreadSeconds() - begin;
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

// The best rate of `work(thread, times)`, each time of which is `amount` by a thread.
double BestRate(ThreadPool& pool, double amount, int rounds,
                const std::function<void(int, int64_t)>& work) {
  const double seconds = LeastSeconds(rounds, kRoundSeconds, [&](int64_t times) {
    return Together(pool, [&](int thread) { work(thread, times); });
  });
  return 1e-9 * amount * pool.num_threads() / seconds;
}

struct alignas(64) Sink {
  float value = 0;
};

double RateOf(ThreadPool& pool, const ArithmeticLoop& loop, int rounds) {
  if (loop.run == nullptr) return 0;
  std::vector<Sink> sinks(static_cast<size_t>(pool.num_threads()));
  constexpr int64_t kAtOnce = 1000;
  return BestRate(pool, loop.operations * kAtOnce, rounds, [&](int thread, int64_t times) {
    loop.run(kAtOnce * times, &sinks[static_cast<size_t>(thread)].value);
  });
}

// Bytes of a cache of this processor, 0: not known. `level` from 1 on.
int64_t CacheBytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string directory =
        absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    std::ifstream level_file(directory + "level"), type_file(directory + "type"),
        size_file(directory + "size");
    int found = 0;
    int64_t size = 0;
    std::string type, unit;
    if (!(level_file >> found) || !(type_file >> type) || !(size_file >> size)) continue;
    size_file >> unit;
    if (found == level && type != "Instruction")
      return unit == "M" ? size << 20 : unit == "K" ? size << 10 : size;
  }
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  return std::max<int64_t>(0, sysconf(names[level - 1]));
}

}  // namespace

double LeastSeconds(int rounds, double round_seconds, const std::function<double(int64_t)>& run) {
  int64_t times = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds;) {
    const double seconds = std::max(run(times), 1e-9);
    least = std::min(least, seconds / static_cast<double>(times));
    // The least counts, not this round: a round that other work interrupted looks long enough.
    if (least * static_cast<double>(times) < round_seconds / 2) {
      times = std::max(2 * times, static_cast<int64_t>(round_seconds / least));
    } else {
      ++round;
    }
  }
  return least;
}

double Bandwidth::Seconds(double read_bytes, double written_bytes) const {
  const double most = std::max({read, write, copy, add});
  return 1e-9 *
         std::max({read_bytes / read, written_bytes / write, (read_bytes + written_bytes) / most});
}

ArithmeticPeak Largest(const ArithmeticPeak& a, const ArithmeticPeak& b) {
  return {std::max(a.float32, b.float32), std::max(a.float64, b.float64),
          std::max(a.bfloat16, b.bfloat16), std::max(a.int8, b.int8)};
}

Bandwidth Largest(const Bandwidth& a, const Bandwidth& b) {
  return {std::max(a.read, b.read), std::max(a.write, b.write), std::max(a.copy, b.copy),
          std::max(a.add, b.add)};
}

ArithmeticPeak MeasureArithmetic(int threads, int rounds) {
  ThreadPool pool(threads);
  const Target set = VectorTarget();
  const PeakLoops& loops = kPeaksPerTarget.For(set)();
  const Int8TileKernels& int8 = kInt8TilesPerTarget.For(Widest(AllowedTargets() & kInt8Targets))();
  ArithmeticPeak peak;
  peak.float32 = RateOf(pool, loops.float32, rounds);
  peak.float64 = RateOf(pool, loops.float64, rounds);
  const TargetMask bf16 = AllowedTargets() & kBf16Targets;
  if (bf16 != 0) peak.bfloat16 = RateOf(pool, kBf16PeakPerTarget.For(Widest(bf16))(), rounds);
  peak.int8 = RateOf(pool, {int8.peak, static_cast<double>(int8.peak_operations)}, rounds);
  return peak;
}

bool MultipliesPairsFaster() {
  static const bool faster = [] {
    if ((DetectedTargets() & MaskOf(Target::kAvx512Bf16)) == 0) return false;
    ThreadPool pool(1);
    constexpr int kRounds = 3;
    return RateOf(pool, kBf16PeakPerTarget.For(Target::kAvx512Bf16)(), kRounds) >
           RateOf(pool, kPeaksPerTarget.For(Target::kAvx512)().float32, kRounds);
  }();
  return faster;
}

bool UsesBf16Products() {
  const TargetMask bf16 = AllowedTargets() & kBf16Targets;
  if (bf16 == 0) return false;
  return Widest(bf16) != Target::kAvx512Bf16 || HasTargetLimit() || MultipliesPairsFaster();
}

Bandwidth MeasureBandwidth(int threads, int64_t bytes, int rounds) {
  ThreadPool pool(threads);
  const PeakLoops& loops = kPeaksPerTarget.For(VectorTarget())();
  // One, two or three arrays in the same bytes of each thread.
  const int64_t own = std::max<int64_t>(1, bytes / threads / (6 * kSlice)) * 6 * kSlice;
  Bandwidth best;
  const auto memory = AllocateMemory(own * threads);
  if (!memory.ok()) return best;
  char* all = static_cast<char*>(memory->get());
  const auto part = [&](int thread) { return all + thread * own; };
  Together(pool, [&](int thread) { std::fill_n(part(thread), own, char{0}); });
  std::vector<Sink> sinks(static_cast<size_t>(threads));
  const auto rate = [&](auto&& once) {
    return BestRate(pool, static_cast<double>(own), rounds, [&](int thread, int64_t times) {
      for (int64_t i = 0; i < times; ++i) once(thread, part(thread));
    });
  };
  best.read = rate([&](int thread, char* at) {
    loops.read(at, own, &sinks[static_cast<size_t>(thread)].value);
  });
  best.write = std::max(rate([&](int, char* at) { loops.write(at, own); }),
                        rate([&](int, char* at) { loops.write_past(at, own); }));
  best.copy = std::max(rate([&](int, char* at) { loops.copy(at, at + own / 2, own / 2); }),
                       rate([&](int, char* at) { loops.copy_past(at, at + own / 2, own / 2); }));
  best.add = rate([&](int, char* at) { loops.add(at, at + own / 3, at + own / 3 * 2, own / 3); });
  return best;
}

std::vector<MemoryLevel> MemoryLevels(int threads) {
  std::vector<MemoryLevel> levels;
  int64_t below = 0;
  for (const int level : {1, 2, 3}) {
    const int64_t capacity = CacheBytes(level) * (level < 3 ? threads : 1);
    if (capacity <= below) continue;
    // Beyond what the level below holds, and well within this one.
    const int64_t measured = std::max(std::min(2 * below, capacity * 3 / 4), capacity / 2);
    levels.push_back({absl::StrCat("L", level), capacity, measured, {}});
    below = capacity;
  }
  constexpr int64_t kLeast = int64_t{128} << 20, kMost = int64_t{512} << 20;
  levels.push_back({"memory", 0, std::clamp(4 * below, kLeast, kMost), {}});
  return levels;
}

std::string LevelOf(int threads, int64_t bytes) {
  for (const MemoryLevel& level : MemoryLevels(threads))
    if (level.capacity == 0 || bytes <= level.capacity) return level.name;
  return "memory";
}

MachinePeak MeasurePeak(int threads) {
  MachinePeak peak;
  peak.instruction_set = RowOf(VectorTarget()).name;
  peak.arithmetic = MeasureArithmetic(threads);
  peak.levels = MemoryLevels(threads);
  for (MemoryLevel& level : peak.levels)
    level.bandwidth = MeasureBandwidth(threads, level.measured);
  return peak;
}

}  // namespace onward::kernels::cpu
