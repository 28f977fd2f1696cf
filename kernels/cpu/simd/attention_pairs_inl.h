#pragma once

#include "kernels/cpu/simd/attention_pairs.h"
#include "kernels/cpu/simd/bf16_inl.h"
#include "kernels/cpu/simd/biased_scores_inl.h"
#include "kernels/cpu/simd/rounded_activation_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <bool kAdd, bool kKeep>
float ExponentialsOf(float* scores, int64_t count, float scale, const float* add, const bool* keep,
                     uint16_t* to) {
  constexpr float kLog2 = 1.44269504f;
  Vec most = Set(-__builtin_inff());
  ForVecs(count, [&](int64_t j, int, int n) ONWARD_LAMBDA_INLINE {
    const Vec v = Biased<kAdd, kKeep>(scores + j, scale, kAdd ? add + j : nullptr,
                                      kKeep ? keep + j : nullptr, n);
    if constexpr (kAdd || kKeep) StoreLanes(scores + j, v, n);
    most = MaxOrNan(most, v);
  });
  const float top = FoldLanes(most, MaxOrNan);
  if (top == -__builtin_inff()) {
    for (int64_t j = 0; j < count; ++j) to[j] = 0;
    return 0;
  }
  const Vec factor = Set((kAdd || kKeep ? 1.0f : scale) * kLog2), offset = Set(-top * kLog2);
  Vec sums[kChains] = {};
  ForVecs(count, [&](int64_t j, int chain, int n) ONWARD_LAMBDA_INLINE {
    const Vec v = rounded::Power(Fma(LoadLanes(scores + j, n), factor, offset));
    sums[chain] += n == kLanes ? v : KeepLanes(v, n);
    StoreBf16(to + j, v, n);
  });
  return 1.0f / SumLanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

inline float Exponentials(float* scores, int64_t count, float scale, const float* add,
                          const bool* keep, uint16_t* to) {
  if (add != nullptr && keep != nullptr)
    return ExponentialsOf<true, true>(scores, count, scale, add, keep, to);
  if (add != nullptr) return ExponentialsOf<true, false>(scores, count, scale, add, nullptr, to);
  if (keep != nullptr) return ExponentialsOf<false, true>(scores, count, scale, nullptr, keep, to);
  return ExponentialsOf<false, false>(scores, count, scale, nullptr, nullptr, to);
}

const AttentionPairsKernels& AttentionPairs() {
  static constexpr AttentionPairsKernels kKernels = {Exponentials};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
