// Scores of attention as softmax reads them.
#pragma once

#include "kernels/cpu/simd/row_sums_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// -1 in the lanes whose `keep` is true, of the first n; 0 beyond.
ONWARD_INLINE IVec KeptLanes(const bool* keep, int n) {
  typedef int8_t Bytes __attribute__((vector_size(kLanes)));
  Bytes bytes = {};
  if (n == kLanes) {
    __builtin_memcpy(&bytes, keep, kLanes);
  } else {
    for (int lane = 0; lane < n; ++lane) bytes[lane] = keep[lane] ? 1 : 0;
  }
  return __builtin_convertvector(bytes, IVec) != IVec{};
}

// The scores that softmax reads: n from j on, 1 <= n <= kLanes; -inf where masked and beyond.
template <bool kAdd, bool kKeep>
ONWARD_INLINE Vec Biased(const float* scores, float scale, const float* add, const bool* keep,
                         int n) {
  const Vec masked = Set(-__builtin_inff());
  Vec v = LoadLanes(scores, n) * scale;
  if constexpr (kAdd) {
    const Vec bias = LoadLanes(add, n);
    v = Select(bias == masked, masked, v + bias);
  }
  if constexpr (kKeep) v = Select(KeptLanes(keep, n), v, masked);
  return n == kLanes ? v : KeepLanesOr(v, n, masked);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
