// Extremes, sums and sums of exponentials over contiguous float32 elements, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// A function of each element before it is added.
enum class Addend : uint8_t { kItself, kMagnitude, kSquare, kCount };

struct ReduceLoops {
  // The greatest or least element, NaN if one is; an infinity of none.
  float (*max)(const float* x, int64_t count);
  float (*min)(const float* x, int64_t count);
  // The same of to[i] and x[i], into to[i].
  void (*max_into)(const float* x, int64_t count, float* to);
  void (*min_into)(const float* x, int64_t count, float* to);
  // The sum of e^(x[i] - shift), no x[i] above `shift`.
  double (*sum_exp)(const float* x, int64_t count, float shift);
  // sums[i] += e^(x[i] - shifts[i])
  void (*add_exp)(const float* x, const float* shifts, int64_t count, float* sums);
  // By Addend: the sum of f(x[i]); sums[i] += f(x[i]).
  double (*sum[static_cast<int>(Addend::kCount)])(const float* x, int64_t count);
  void (*add[static_cast<int>(Addend::kCount)])(const float* x, int64_t count, float* sums);
};

ONWARD_PER_TARGET(kVectorLoops, const ReduceLoops&, Reductions, ())

}  // namespace onward::kernels::cpu
