// The peaks of this machine, measured with the instructions that kernels use: ceilings that
// no kernel passes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace onward::kernels::cpu {

// 10^9 operations per second, two a multiply-add, of all threads together.
struct ArithmeticPeak {
  double float32 = 0;
  double float64 = 0;
  double bfloat16 = 0;  // products of pairs, summed in float32; 0: the processor has none
  double int8 = 0;      // sums in int32
};

// 10^9 bytes per second, of all threads together.
struct Bandwidth {
  double read = 0;
  double write = 0;
  double copy = 0;  // read and written bytes together
  double add = 0;   // the same of c[i] = a[i] + b[i]

  // The least seconds that reading and writing so many bytes takes.
  double Seconds(double read_bytes, double written_bytes) const;
};

// Where data lies that is used again and again.
struct MemoryLevel {
  std::string name;      // "L1", "L2", "L3", "memory"
  int64_t capacity = 0;  // bytes, of the threads' caches together; 0: memory
  int64_t measured = 0;  // bytes that were read and written to measure it
  Bandwidth bandwidth;
};

struct MachinePeak {
  std::string_view instruction_set;
  ArithmeticPeak arithmetic;
  std::vector<MemoryLevel> levels;  // the fastest first
};

// All of it; about a second.
MachinePeak MeasurePeak(int threads);

// Parts of it. The best of several rounds; more rounds are closer on a machine with other work.
ArithmeticPeak MeasureArithmetic(int threads, int rounds = 16);
// Measures on data of `bytes` in all, which the threads share.
Bandwidth MeasureBandwidth(int threads, int64_t bytes, int rounds = 16);

// The least seconds of one time among `rounds` calls of `run(times)`, which returns the seconds of
// `times` times. `times` grows until an undisturbed call takes `round_seconds`.
double LeastSeconds(int rounds, double round_seconds, const std::function<double(int64_t)>& run);

// Returns whether the vectors of avx512bf16 multiply pairs of bfloat16 faster than float32: twice
// as fast on AMD's Zen 4, half as fast on Intel's cores, whose AMX is another target. False where
// the processor has none. Measured by the first caller, in about 10 ms; safe to call from many
// threads.
bool MultipliesPairsFaster();
// Returns whether the kernels that multiply bfloat16 where arithmetic takes the time may run in
// this process and are faster, or the instruction set is named in the process's limit.
bool UsesBf16Products();

// The larger of each.
ArithmeticPeak Largest(const ArithmeticPeak& a, const ArithmeticPeak& b);
Bandwidth Largest(const Bandwidth& a, const Bandwidth& b);

// The levels for so many threads, not measured; and the first that holds so many bytes.
std::vector<MemoryLevel> MemoryLevels(int threads);
std::string LevelOf(int threads, int64_t bytes);

}  // namespace onward::kernels::cpu
