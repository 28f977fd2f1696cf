// Vectors of doubles, as wide as those of floats.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline constexpr int kDoubles = kLanes / 2;  // of a vector

typedef double DoubleVec __attribute__((vector_size(8 * kDoubles)));
typedef double UnalignedDoubleVec __attribute__((vector_size(8 * kDoubles), aligned(8), may_alias));
typedef float HalfVec __attribute__((vector_size(4 * kDoubles)));
typedef float UnalignedHalfVec __attribute__((vector_size(4 * kDoubles), aligned(4), may_alias));

// GCC 12 converts a wide vector in halves.
ONWARD_INLINE DoubleVec WidenHalf(HalfVec v) {
#if defined(ONWARD_TARGET_AVX512)
  return _mm512_maskz_cvtps_pd(0xff, v);
#else
  return __builtin_convertvector(v, DoubleVec);
#endif
}

ONWARD_INLINE DoubleVec LoadDoubles(const double* p) {
  return *reinterpret_cast<const UnalignedDoubleVec*>(p);
}
ONWARD_INLINE DoubleVec LoadDoubles(const float* p) {
  return WidenHalf(*reinterpret_cast<const UnalignedHalfVec*>(p));
}
ONWARD_INLINE void StoreDoubles(double* p, DoubleVec v) {
  *reinterpret_cast<UnalignedDoubleVec*>(p) = v;
}

// The first n lanes, 0 <= n <= kDoubles; 0 in the others. Memory beyond them is not touched.
template <typename T>
ONWARD_INLINE DoubleVec LoadFirstDoubles(const T* p, int n) {
  DoubleVec v = {};
  for (int i = 0; i < n; ++i) v[i] = static_cast<double>(p[i]);
  return v;
}
ONWARD_INLINE void StoreFirstDoubles(double* p, DoubleVec v, int n) {
#if defined(ONWARD_TARGET_AVX512)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1u), v);
#else
  for (int i = 0; i < n; ++i) p[i] = v[i];
#endif
}
#if defined(ONWARD_TARGET_AVX512)
ONWARD_INLINE DoubleVec LoadFirstDoubles(const double* p, int n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1u), p);
}
ONWARD_INLINE DoubleVec LoadFirstDoubles(const float* p, int n) {
  const HalfVec narrow = _mm256_maskz_loadu_ps(static_cast<__mmask8>((1u << n) - 1u), p);
  return WidenHalf(narrow);
}
#elif defined(ONWARD_TARGET_AVX2)
ONWARD_INLINE DoubleVec LoadFirstDoubles(const double* p, int n) {
  alignas(32) static constexpr int64_t kOnesThenZeros[8] = {-1, -1, -1, -1};
  return _mm256_maskload_pd(
      p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnesThenZeros + 4 - n)));
}
ONWARD_INLINE DoubleVec LoadFirstDoubles(const float* p, int n) {
  alignas(16) static constexpr int32_t kOnesThenZeros[8] = {-1, -1, -1, -1};
  const HalfVec narrow =
      _mm_maskload_ps(p, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOnesThenZeros + 4 - n)));
  return WidenHalf(narrow);
}
#endif

// The sum of all lanes, halves first: the order is fixed.
template <int D, int... I>
ONWARD_INLINE double SumDoubles(DoubleVec v, std::integer_sequence<int, I...> lanes) {
  if constexpr (D == 0) {
    return v[0];
  } else {
    return SumDoubles<D / 2>(v + __builtin_shufflevector(v, v, (I ^ D)...), lanes);
  }
}
ONWARD_INLINE double SumDoubles(DoubleVec v) {
  return SumDoubles<kDoubles / 2>(v, std::make_integer_sequence<int, kDoubles>());
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
