// The steps of a pool: each element is mapped, combined with those before, and the result finished.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// NaN if either is. The chain of `a` is one maximum and one selection long.
struct PooledMax {
  static constexpr bool kDivides = false;
  static ONWARD_INLINE float Identity() { return -__builtin_inff(); }
  static ONWARD_INLINE Vec Map(Vec x) { return x; }
  static ONWARD_INLINE Vec Combine(Vec a, Vec b) { return Select(b != b, b, Max(b, a)); }
  static ONWARD_INLINE float Combine(float a, float b) { return a != a || a > b ? a : b; }
  static ONWARD_INLINE Vec Finish(Vec v) { return v; }
};
struct PooledSum {
  static constexpr bool kDivides = false;
  static ONWARD_INLINE float Identity() { return 0.0f; }
  static ONWARD_INLINE Vec Map(Vec x) { return x; }
  static ONWARD_INLINE Vec Combine(Vec a, Vec b) { return a + b; }
  static ONWARD_INLINE float Combine(float a, float b) { return a + b; }
  static ONWARD_INLINE Vec Finish(Vec v) { return v; }
};
struct PooledAverage : PooledSum {
  static constexpr bool kDivides = true;
};
struct PooledMagnitudes : PooledSum {
  static ONWARD_INLINE Vec Map(Vec x) { return Abs(x); }
};
struct PooledSquares : PooledSum {
  static ONWARD_INLINE Vec Map(Vec x) { return x * x; }
  static ONWARD_INLINE Vec Finish(Vec v) { return Sqrt(v); }
};

}  // namespace onward::kernels::cpu::ONWARD_TARGET
