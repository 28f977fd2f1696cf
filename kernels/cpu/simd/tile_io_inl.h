// Loads and stores of vectors that may be cut off, and of blocks.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// n lanes, 0 <= n <= kLanes.
ONWARD_INLINE Vec LoadLanes(const float* p, int n) { return n == kLanes ? Load(p) : LoadN(p, n); }
ONWARD_INLINE void StoreLanes(float* p, Vec v, int n) {
  n == kLanes ? Store(p, v) : StoreN(p, v, n);
}

// v in the first n lanes, `other` (0) in the rest.
ONWARD_INLINE IVec LaneNumbers() {
  IVec v;
  for (int i = 0; i < kLanes; ++i) v[i] = i;
  return v;
}
ONWARD_INLINE Vec KeepLanesOr(Vec v, int n, Vec other) {
  return Select(LaneNumbers() < SetInt(n), v, other);
}
ONWARD_INLINE Vec KeepLanes(Vec v, int n) { return KeepLanesOr(v, n, Vec{}); }

// Reads `rows` rows at p[r * stride] of `lanes` lanes (zero beyond both), transposed.
ONWARD_INLINE void LoadTransposed(const float* p, int64_t stride, int rows, int lanes,
                                  Vec (&block)[kLanes]) {
  ONWARD_UNROLL
  for (int r = 0; r < kLanes; ++r) block[r] = r < rows ? LoadLanes(p + r * stride, lanes) : Vec{};
  Transpose(block);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
