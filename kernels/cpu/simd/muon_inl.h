#pragma once

#include "kernels/cpu/simd/independent_inl.h"
#include "kernels/cpu/simd/scaled_steps.h"
#include "kernels/cpu/simd/squares_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <typename T>
double MuonDirection(T weight, T momentum, bool nesterov, T sign, const T* g, const T* state,
                     T* next, T* x, int64_t count) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T gradient = sign * g[i];
    const T buffer = state[i] + weight * (gradient - state[i]);
    next[i] = buffer;
    x[i] = nesterov ? gradient + momentum * (buffer - gradient) : buffer;
  }
  return SquaresOf(x, count);
}

template <typename T>
void Divide(T* x, T by, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] /= by;
}

template <typename T>
void MuonApply(const T* p, const T* x, T shrink, T rate, T* out, int64_t count) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = p[i] * shrink - rate * x[i];
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
