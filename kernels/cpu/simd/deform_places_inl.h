#pragma once

#include "kernels/cpu/simd/copy_run_inl.h"
#include "kernels/cpu/simd/deform_places.h"
#include "kernels/cpu/simd/math_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// Along an axis: the elements before and behind a place, and their weights.
struct AxisPlace {
  IVec before;
  Vec weights[2];
};

ONWARD_INLINE IVec SelectInt(IVec mask, IVec yes, IVec no) { return (mask & yes) | (~mask & no); }
ONWARD_INLINE IVec Clamped(IVec v, int32_t most) {
  const IVec at_least_0 = SelectInt(v < SetInt(0), SetInt(0), v);
  return SelectInt(at_least_0 > SetInt(most), SetInt(most), at_least_0);
}

ONWARD_INLINE AxisPlace PlaceOnAxis(Vec at, IVec inside, int32_t size) {
  const Vec floor = Floor(Select(inside, at, Vec{}));
  const IVec before = ToInt(floor);
  const Vec rest = at - floor;
  return {before,
          {Select(inside & (before >= SetInt(0)), 1.0f - rest, Vec{}),
           Select(inside & (before < SetInt(size - 1)), rest, Vec{})}};
}

// n lanes.
ONWARD_INLINE void FindLanes(const DeformTap& tap, int64_t i, int n, const DeformPlaces& places) {
  const Vec row = LoadLanes(tap.rows + i, n) + tap.row + LoadLanes(tap.down + i, n);
  const Vec column = LoadLanes(tap.columns + i, n) + tap.column + LoadLanes(tap.right + i, n);
  // False for NaN.
  const IVec inside = (row > -1.0f) & (row < static_cast<float>(tap.height)) & (column > -1.0f) &
                      (column < static_cast<float>(tap.width)) & (LaneNumbers() < SetInt(n));
  const AxisPlace y = PlaceOnAxis(row, inside, tap.height);
  const AxisPlace x = PlaceOnAxis(column, inside, tap.width);
  const IVec first = Clamped(x.before, tap.width > 1 ? tap.width - 2 : 0);
  const IVec upper = Clamped(y.before, tap.height - 1);
  const IVec lower = Clamped(y.before + SetInt(1), tap.height - 1);
  const IVec upper_at = upper * SetInt(tap.width) + first;
  const IVec lower_at = lower * SetInt(tap.width) + first;
  Store(reinterpret_cast<float*>(places.upper + i), FromBits(upper_at));
  Store(reinterpret_cast<float*>(places.lower + i), FromBits(lower_at));
  // At an edge the pair lies beside the place.
  const Vec left =
      Select(x.before == first, x.weights[0], Select(x.before < first, x.weights[1], Vec{}));
  const Vec right =
      Select(x.before == first, x.weights[1], Select(x.before > first, x.weights[0], Vec{}));
  const Vec mask = tap.mask == nullptr ? Set(1.0f) : LoadLanes(tap.mask + i, n);
  const Vec above = y.weights[0] * mask, below = y.weights[1] * mask;
  StoreInterleaved({above * left, above * right}, places.upper_weights + 2 * i);
  StoreInterleaved({below * left, below * right}, places.lower_weights + 2 * i);
}

void FindPlaces(const DeformTap& tap, int64_t count, int64_t padded, const DeformPlaces& places) {
  for (int64_t i = 0; i < padded; i += kLanes) {
    const int64_t left = count - i < kLanes ? count - i : kLanes;
    FindLanes(tap, i, left > 0 ? static_cast<int>(left) : 0, places);
  }
}

// Pairs of floats that begin at image[at[0]], image[at[1]], ...
typedef double Pairs __attribute__((vector_size(4 * kLanes)));
typedef double UnalignedPair __attribute__((aligned(4), may_alias));
ONWARD_INLINE Vec LoadPairs(const float* image, const int32_t* at) {
#if defined(ONWARD_TARGET_AVX512)
  const __m256i places = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return reinterpret_cast<Vec>(
      _mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, places, image, 4));
#else
  Pairs pairs;
  for (int i = 0; i < kLanes / 2; ++i)
    pairs[i] = *reinterpret_cast<const UnalignedPair*>(image + at[i]);
  return reinterpret_cast<Vec>(pairs);
#endif
}

// An element that is not read may be infinite.
ONWARD_INLINE Vec Weighted(Vec pairs, Vec weights, Vec sum) {
  return Fma(Select(weights != Vec{}, pairs, Vec{}), weights, sum);
}

void Sample(const DeformPlaces& places, int64_t count, const float* images, int64_t size,
            int64_t channels, float* to, int64_t to_stride) {
  constexpr int kHalf = kLanes / 2;  // places of a vector of pairs
  const auto lanes = std::make_integer_sequence<int, kLanes>();
  for (int64_t i = 0; i < count; i += kLanes) {
    Vec above[2], below[2];
    for (int half = 0; half < 2; ++half) {
      above[half] = Load(places.upper_weights + 2 * i + half * kLanes);
      below[half] = Load(places.lower_weights + 2 * i + half * kLanes);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const float* image = images + c * size;
      Vec sums[2];
      ONWARD_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int64_t at = i + half * kHalf;
        const Vec upper = Weighted(LoadPairs(image, places.upper + at), above[half], Vec{});
        sums[half] = Weighted(LoadPairs(image, places.lower + at), below[half], upper);
      }
      Store(to + c * to_stride + i,
            EvenLanes(sums[0], sums[1], lanes) + OddLanes(sums[0], sums[1], lanes));
    }
  }
}

void SampleColumn(const DeformPlaces& places, int64_t count, const float* images, int64_t size,
                  int64_t channels, float* to, int64_t to_stride) {
  for (int64_t c = 0; c < channels; ++c) {
    const float* image = images + c * size;
    for (int64_t i = 0; i < count; ++i) {
      const float above = places.upper_weights[2 * i], below = places.lower_weights[2 * i];
      to[c * to_stride + i] = (above == 0 ? 0 : above * image[places.upper[i]]) +
                              (below == 0 ? 0 : below * image[places.lower[i]]);
    }
  }
}

constexpr DeformLoops kDeformLoops = {FindPlaces, Sample, SampleColumn};
const DeformLoops& Deform() { return kDeformLoops; }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
