#pragma once

#include "kernels/cpu/simd/attention_row.h"
#include "kernels/cpu/simd/math_inl.h"

namespace onward::cpu::ONWARD_TARGET {

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

ONWARD_INLINE Vec MaskedLanes(Vec scores, const bool* keep, int lanes) {
  float kept[kLanes] = {};
  for (int lane = 0; lane < lanes; ++lane) kept[lane] = keep[lane] ? 1.0f : 0.0f;
  return Select(Load(kept) != Vec{}, scores, Set(-__builtin_inff()));
}

inline void Softmax(float* scores, int64_t count, float scale, const float* add, const bool* keep) {
  const Vec masked = Set(-__builtin_inff());
  Vec most = masked;
  for (int64_t j = 0; j < count; j += kLanes) {
    const int lanes = count - j < kLanes ? static_cast<int>(count - j) : kLanes;
    Vec v = LoadN(scores + j, lanes) * scale;
    if (add != nullptr) {
      const Vec bias = LoadN(add + j, lanes);
      v = Select(bias == masked, masked, v + bias);
    }
    if (keep != nullptr) v = MaskedLanes(v, keep + j, lanes);
    StoreN(scores + j, v, lanes);
    if (lanes < kLanes) {
      float filled[kLanes];
      Store(filled, masked);
      StoreN(filled, v, lanes);
      v = Load(filled);
    }
    most = Select(most != most, most, Max(most, v));
  }
  float lanes_most[kLanes];
  Store(lanes_most, most);
  float top = lanes_most[0];
  for (int lane = 1; lane < kLanes; ++lane) {
    const float x = lanes_most[lane];
    top = x > top || x != x ? x : top;
  }
  if (top == -__builtin_inff()) {
    for (int64_t j = 0; j < count; ++j) scores[j] = 0.0f;
    return;
  }
  Vec sum = {};
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    const Vec v = ExpOfNegative(Load(scores + j) - top);
    Store(scores + j, v);
    sum += v;
  }
  float total = SumLanes(sum);
  if (j < count) {
    const int lanes = static_cast<int>(count - j);
    const Vec v = ExpOfNegative(LoadN(scores + j, lanes) - top);
    StoreN(scores + j, v, lanes);
    for (; j < count; ++j) total += scores[j];
  }
  const float factor = 1.0f / total;
  for (j = 0; j + kLanes <= count; j += kLanes) Store(scores + j, Load(scores + j) * factor);
  for (; j < count; ++j) scores[j] *= factor;
}

inline void SoftmaxGradient(const float* p, float* upstream, int64_t count, float scale) {
  constexpr int kChains = 4;
  Vec sums[kChains] = {};
  int64_t j = 0;
  for (; j + kChains * kLanes <= count; j += kChains * kLanes) {
    ONWARD_UNROLL
    for (int i = 0; i < kChains; ++i)
      sums[i] = Fma(Load(p + j + i * kLanes), Load(upstream + j + i * kLanes), sums[i]);
  }
  for (; j + kLanes <= count; j += kLanes) sums[0] = Fma(Load(p + j), Load(upstream + j), sums[0]);
  float total = SumLanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; j < count; ++j) total += p[j] * upstream[j];
  for (j = 0; j + kLanes <= count; j += kLanes)
    Store(upstream + j, (Load(upstream + j) - total) * Load(p + j) * scale);
  for (; j < count; ++j) upstream[j] = (upstream[j] - total) * p[j] * scale;
}

const AttentionRowKernels& AttentionRows() {
  static constexpr AttentionRowKernels kKernels = {Dots, Softmax, SoftmaxGradient};
  return kKernels;
}

}  // namespace onward::cpu::ONWARD_TARGET
