#pragma once

#include "kernels/cpu/simd/attention_row.h"
#include "kernels/cpu/simd/biased_scores_inl.h"
#include "kernels/cpu/simd/math_inl.h"
#include "kernels/cpu/simd/row_sums_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// One key per lane: sums of kLanes keys are kept apart and transposed at the end.
inline void Dots(const float* q, const float* k, int64_t k_row, int64_t keys, int64_t depth,
                 float* scores) {
  for (int64_t j = 0; j < keys; j += kLanes) {
    const int lanes = keys - j < kLanes ? static_cast<int>(keys - j) : kLanes;
    const float* rows[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      rows[lane] = k + (j + (lane < lanes ? lane : lanes - 1)) * k_row;
    Vec sums[kLanes] = {};
    int64_t d = 0;
    for (; d + kLanes <= depth; d += kLanes) {
      const Vec x = Load(q + d);
      ONWARD_UNROLL
      for (int lane = 0; lane < kLanes; ++lane)
        sums[lane] = Fma(x, Load(rows[lane] + d), sums[lane]);
    }
    if (d < depth) {
      const int rest = static_cast<int>(depth - d);
      const Vec x = LoadN(q + d, rest);
      ONWARD_UNROLL
      for (int lane = 0; lane < kLanes; ++lane)
        sums[lane] = Fma(x, LoadN(rows[lane] + d, rest), sums[lane]);
    }
    Transpose(sums);
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
    }
    if (lanes == kLanes) {
      Store(scores + j, sums[0]);
    } else {
      StoreN(scores + j, sums[0], lanes);
    }
  }
}

template <bool kAdd, bool kKeep>
void SoftmaxOf(float* scores, int64_t count, float scale, const float* add, const bool* keep) {
  const int rest = static_cast<int>(count % kLanes);
  const int64_t whole = count - rest;
  const auto biased = [&](int64_t j, int n) ONWARD_LAMBDA_INLINE {
    return Biased<kAdd, kKeep>(scores + j, scale, kAdd ? add + j : nullptr,
                               kKeep ? keep + j : nullptr, n);
  };
  Vec most = Set(-__builtin_inff()), last = most;
  if (rest > 0) most = last = biased(whole, rest);
  for (int64_t j = 0; j < whole; j += kLanes) {
    const Vec v = biased(j, kLanes);
    if constexpr (kAdd || kKeep) Store(scores + j, v);
    most = MaxOrNan(most, v);
  }
  const float top = FoldLanes(most, MaxOrNan);
  if (top == -__builtin_inff()) {
    for (int64_t j = 0; j < count; ++j) scores[j] = 0.0f;
    return;
  }
  last = ExpOfNegative(last - top);
  Vec sum = rest > 0 ? last : Vec{};
  for (int64_t j = 0; j < whole; j += kLanes) {
    const Vec score = Load(scores + j);
    const Vec v = ExpOfNegative((kAdd || kKeep ? score : score * scale) - top);
    Store(scores + j, v);
    sum += v;
  }
  const float factor = 1.0f / SumLanes(sum);
  for (int64_t j = 0; j < whole; j += kLanes) Store(scores + j, Load(scores + j) * factor);
  if (rest > 0) StoreN(scores + whole, last * factor, rest);
}

inline void SoftmaxOfRow(float* scores, int64_t count, float scale, const float* add,
                         const bool* keep) {
  if (add != nullptr && keep != nullptr) {
    SoftmaxOf<true, true>(scores, count, scale, add, keep);
  } else if (add != nullptr) {
    SoftmaxOf<true, false>(scores, count, scale, add, nullptr);
  } else if (keep != nullptr) {
    SoftmaxOf<false, true>(scores, count, scale, nullptr, keep);
  } else {
    SoftmaxOf<false, false>(scores, count, scale, nullptr, nullptr);
  }
}

inline void SoftmaxGradient(const float* p, float* upstream, int64_t count, float scale) {
  Vec sums[kChains] = {};
  int64_t j = 0;
  for (; j + kChains * kLanes <= count; j += kChains * kLanes) {
    ONWARD_UNROLL
    for (int i = 0; i < kChains; ++i)
      sums[i] = Fma(Load(p + j + i * kLanes), Load(upstream + j + i * kLanes), sums[i]);
  }
  for (; j + kLanes <= count; j += kLanes) sums[0] = Fma(Load(p + j), Load(upstream + j), sums[0]);
  const int rest = static_cast<int>(count - j);
  Vec last_p = {}, last = {};
  if (rest > 0) {
    last_p = LoadN(p + j, rest), last = LoadN(upstream + j, rest);
    sums[1] = Fma(last_p, last, sums[1]);
  }
  const float total = SumLanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (j = 0; j + kLanes <= count; j += kLanes)
    Store(upstream + j, (Load(upstream + j) - total) * Load(p + j) * scale);
  if (rest > 0) StoreN(upstream + j, (last - total) * last_p * scale, rest);
}

const AttentionRowKernels& AttentionRows() {
  static constexpr AttentionRowKernels kKernels = {Dots, SoftmaxOfRow, SoftmaxGradient};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
