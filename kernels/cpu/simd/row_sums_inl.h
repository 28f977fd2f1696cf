// Walks and sums over contiguous floats.
#pragma once

#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline constexpr int kChains = 4;  // of additions in flight
inline constexpr int64_t kSumBlock = 4096;

// Calls f(i, chain, lanes) for the vectors of [0, count).
template <typename F>
ONWARD_INLINE void ForVecs(int64_t count, F&& f) {
  int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    ONWARD_UNROLL
    for (int c = 0; c < kChains; ++c) f(i + c * kLanes, c, kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) f(i, 0, kLanes);
  if (i < count) f(i, 0, static_cast<int>(count - i));
}

// Sum of map(x[i]); blocks are added in double. map(0) need not be 0: missing lanes are cleared.
template <typename Map>
ONWARD_INLINE double SumOf(const float* x, int64_t count, Map&& map) {
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kSumBlock) {
    const int64_t n = count - begin < kSumBlock ? count - begin : kSumBlock;
    Vec sum[kChains] = {};
    ForVecs(n, [&](int64_t i, int chain, int lanes) ONWARD_LAMBDA_INLINE {
      const Vec value = map(LoadLanes(x + begin + i, lanes));
      sum[chain] += lanes == kLanes ? value : KeepLanes(value, lanes);
    });
    total += static_cast<double>(SumLanes((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
  return total;
}

// The larger; NaN if either is.
ONWARD_INLINE Vec MaxOrNan(Vec a, Vec b) { return Select(a != a, a, Max(a, b)); }

// The smaller; NaN if either is.
ONWARD_INLINE Vec MinOrNan(Vec a, Vec b) { return Select(a != a, a, Min(a, b)); }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
