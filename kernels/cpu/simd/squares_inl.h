// Sums of squares of floats and doubles.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <typename T>
ONWARD_INLINE double SquaresOf(const T* x, int64_t count) {
  constexpr int64_t kWidth = 4 * kLanes / static_cast<int64_t>(sizeof(T));
  constexpr int64_t kBlock = 2048;  // of which each lane adds few
  typedef T Wide __attribute__((vector_size(4 * kLanes), aligned(sizeof(T)), may_alias));
  typedef T Sums __attribute__((vector_size(4 * kLanes)));
  double total = 0;
  while (count > 0) {
    const int64_t n = count < kBlock ? count : kBlock;
    Sums sums[4] = {};
    int64_t i = 0;
    for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
      ONWARD_UNROLL
      for (int k = 0; k < 4; ++k) {
        const Sums v = *reinterpret_cast<const Wide*>(x + i + k * kWidth);
        sums[k] += v * v;
      }
    }
    for (; i + kWidth <= n; i += kWidth) {
      const Sums v = *reinterpret_cast<const Wide*>(x + i);
      sums[0] += v * v;
    }
    const Sums sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int64_t k = 0; k < kWidth; ++k) total += static_cast<double>(sum[k]);
    for (; i < n; ++i) total += static_cast<double>(x[i] * x[i]);
    x += n;
    count -= n;
  }
  return total;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
