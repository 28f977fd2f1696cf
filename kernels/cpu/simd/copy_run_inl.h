// Copies of parts of image rows.
#pragma once

#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// a / b rounded up, 0 for negative a.
ONWARD_INLINE int64_t CeilDivision(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

// Returns whether some tap of `kernel` lies `phase` beyond a multiple of the stride.
ONWARD_INLINE bool ReadsPhase(int64_t kernel, int64_t dilation, int64_t stride, int64_t phase) {
  if (dilation == 1) return phase < kernel;
  for (int64_t k = 0; k < kernel && k < stride; ++k) {
    if (k * dilation % stride == phase) return true;
  }
  return false;
}

template <int... I>
ONWARD_INLINE Vec EvenLanes(Vec a, Vec b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}

template <int... I>
ONWARD_INLINE Vec OddLanes(Vec a, Vec b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I + 1)...);
}
// a[0] b[0] a[1] b[1] ..., from lane `kFrom` of each on.
template <int kFrom, int... I>
ONWARD_INLINE Vec Interleave(Vec a, Vec b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (kFrom + I / 2 + (I % 2) * kLanes)...);
}

// to[j * n + i] = v[i][j] for n = 2 or 4 vectors.
ONWARD_INLINE void StoreInterleaved(const Vec (&v)[2], float* to) {
  const auto lanes = std::make_integer_sequence<int, kLanes>();
  Store(to, Interleave<0>(v[0], v[1], lanes));
  Store(to + kLanes, Interleave<kLanes / 2>(v[0], v[1], lanes));
}
ONWARD_INLINE void StoreInterleaved(const Vec (&v)[4], float* to) {
  const auto lanes = std::make_integer_sequence<int, kLanes>();
  StoreInterleaved({Interleave<0>(v[0], v[2], lanes), Interleave<0>(v[1], v[3], lanes)}, to);
  StoreInterleaved(
      {Interleave<kLanes / 2>(v[0], v[2], lanes), Interleave<kLanes / 2>(v[1], v[3], lanes)},
      to + 2 * kLanes);
}

// Copies `count` elements that lie `stride` apart.
ONWARD_INLINE void CopyRun(const float* from, int64_t stride, int64_t count, float* to) {
  int64_t i = 0;
  if (stride == 1) {
    for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(from + i));
    const int left = static_cast<int>(count - i);
    if (left > 0) StoreN(to + i, LoadN(from + i, left), left);
    return;
  }
  if (stride == 2) {
    for (; i < count; i += kLanes) {
      const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
      const int span = 2 * n - 1;
      const Vec low = LoadLanes(from + 2 * i, span < kLanes ? span : kLanes);
      const Vec high = span <= kLanes ? Vec{} : LoadN(from + 2 * i + kLanes, span - kLanes);
      StoreLanes(to + i, EvenLanes(low, high, std::make_integer_sequence<int, kLanes>()), n);
    }
    return;
  }
  if (stride == 4) {
    const auto all = std::make_integer_sequence<int, kLanes>();
    for (; i < count; i += kLanes) {
      const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
      Vec part[4];
      ONWARD_UNROLL
      for (int p = 0; p < 4; ++p) {
        const int left = 4 * n - 3 - p * kLanes;
        part[p] =
            left <= 0 ? Vec{} : LoadLanes(from + 4 * i + p * kLanes, left < kLanes ? left : kLanes);
      }
      const Vec low = EvenLanes(part[0], part[1], all), high = EvenLanes(part[2], part[3], all);
      StoreLanes(to + i, EvenLanes(low, high, all), n);
    }
    return;
  }
  for (; i < count; ++i) to[i] = from[i * stride];
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
