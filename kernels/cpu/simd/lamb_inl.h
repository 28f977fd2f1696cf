#pragma once

#include <cmath>

#include "kernels/cpu/simd/independent_inl.h"
#include "kernels/cpu/simd/scaled_steps.h"
#include "kernels/cpu/simd/squares_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <typename T>
ONWARD_INLINE T LambChange(const LambNumbers<T>& n, T p, T m, T v) {
  return m * n.by_first / (std::sqrt(v * n.by_second) + n.epsilon) + n.decay * p;
}

template <typename T>
StepSums LambMoments(const LambNumbers<T>& numbers, const LambArrays<T>& a, int64_t begin,
                     int64_t end) {
  constexpr int64_t kPiece = 512;
  const LambNumbers<T> n = numbers;
  StepSums sums;
  T changes[kPiece];
  for (; begin < end; begin += kPiece) {
    const int64_t count = end - begin < kPiece ? end - begin : kPiece;
    const T *p = a.p + begin, *g = a.g + begin, *m = a.m + begin, *v = a.v + begin;
    T *next_m = a.next_m + begin, *next_v = a.next_v + begin;
    ONWARD_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
      const T gradient = n.sign * g[i];
      const T first = m[i] + n.first_weight * (gradient - m[i]);
      const T second = v[i] * n.beta2 + n.second_weight * gradient * gradient;
      next_m[i] = first;
      next_v[i] = second;
      changes[i] = LambChange(n, p[i], first, second);
    }
    sums.parameter += SquaresOf(p, count);
    sums.change += SquaresOf(changes, count);
  }
  return sums;
}

template <typename T>
void LambApply(const LambNumbers<T>& numbers, T rate, const LambArrays<T>& a, int64_t begin,
               int64_t end) {
  const LambNumbers<T> n = numbers;
  const T *p = a.p, *m = a.next_m, *v = a.next_v;
  T* out = a.out;
  ONWARD_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) out[i] = p[i] - rate * LambChange(n, p[i], m[i], v[i]);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
