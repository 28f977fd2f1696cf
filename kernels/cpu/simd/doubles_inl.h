// Vectors of doubles, as wide as those of floats, with half the lanes: for float64, and for steps
// of float32 functions that float32 is too narrow for.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline constexpr int kDoubles = kLanes / 2;  // of a vector

typedef double Doubles __attribute__((vector_size(4 * kLanes)));
typedef double UnalignedDoubles __attribute__((vector_size(4 * kLanes), aligned(8), may_alias));
typedef int64_t Longs __attribute__((vector_size(4 * kLanes)));  // also lane masks: 0 or -1
typedef float FewFloats __attribute__((vector_size(2 * kLanes)));
typedef float UnalignedFewFloats __attribute__((vector_size(2 * kLanes), aligned(4), may_alias));

// The doubles of all lanes of a vector of floats.
struct DoublePair {
  Doubles low, high;
};

ONWARD_INLINE Doubles SetDouble(double x) { return x - Doubles{}; }
ONWARD_INLINE Doubles SelectDouble(Longs mask, Doubles yes, Doubles no) { return mask ? yes : no; }
#if defined(ONWARD_TARGET_AVX512)
ONWARD_INLINE Doubles FmaDouble(Doubles a, Doubles b, Doubles c) {
  return _mm512_fmadd_pd(a, b, c);
}
ONWARD_INLINE Doubles ToDoubles(FewFloats v) { return _mm512_maskz_cvtps_pd(0xff, v); }
#elif defined(ONWARD_TARGET_AVX2)
ONWARD_INLINE Doubles FmaDouble(Doubles a, Doubles b, Doubles c) {
  return _mm256_fmadd_pd(a, b, c);
}
ONWARD_INLINE Doubles ToDoubles(FewFloats v) { return _mm256_cvtps_pd(v); }
#else
#if defined(ONWARD_TARGET_NEON)
ONWARD_INLINE Doubles FmaDouble(Doubles a, Doubles b, Doubles c) { return vfmaq_f64(c, a, b); }
#else
ONWARD_INLINE Doubles FmaDouble(Doubles a, Doubles b, Doubles c) { return a * b + c; }
#endif
ONWARD_INLINE Doubles ToDoubles(FewFloats v) { return __builtin_convertvector(v, Doubles); }
#endif

template <int... I>
ONWARD_INLINE DoublePair ToDoubles(Vec v, std::integer_sequence<int, I...>) {
  return {ToDoubles(__builtin_shufflevector(v, v, I...)),
          ToDoubles(__builtin_shufflevector(v, v, (I + kLanes / 2)...))};
}
ONWARD_INLINE DoublePair ToDoubles(Vec v) {
  return ToDoubles(v, std::make_integer_sequence<int, kLanes / 2>());
}
template <int... I>
ONWARD_INLINE Vec FromDoubles(const DoublePair& v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(__builtin_convertvector(v.low, FewFloats),
                                 __builtin_convertvector(v.high, FewFloats), I...);
}
ONWARD_INLINE Vec FromDoubles(const DoublePair& v) {
  return FromDoubles(v, std::make_integer_sequence<int, kLanes>());
}

// Adding it rounds to an integer, which the low bits then have.
inline constexpr double kDoubleShift = 6755399441055744.0;  // 1.5 * 2^52

// a0 + a1 x + a2 x^2 + ...
ONWARD_INLINE Doubles PolynomialDouble(Doubles, double a) { return SetDouble(a); }
template <typename... Rest>
ONWARD_INLINE Doubles PolynomialDouble(Doubles x, double a, Rest... rest) {
  return FmaDouble(PolynomialDouble(x, rest...), x, SetDouble(a));
}

ONWARD_INLINE Doubles LoadDoubles(const double* p) {
  return *reinterpret_cast<const UnalignedDoubles*>(p);
}
ONWARD_INLINE Doubles LoadDoubles(const float* p) {
  return ToDoubles(*reinterpret_cast<const UnalignedFewFloats*>(p));
}
ONWARD_INLINE void StoreDoubles(double* p, Doubles v) {
  *reinterpret_cast<UnalignedDoubles*>(p) = v;
}

// The first n lanes, 0 <= n <= kDoubles; 0 in the others. Memory beyond them is not touched.
template <typename T>
ONWARD_INLINE Doubles LoadFirstDoubles(const T* p, int n) {
  Doubles v = {};
  for (int i = 0; i < n; ++i) v[i] = static_cast<double>(p[i]);
  return v;
}
ONWARD_INLINE void StoreFirstDoubles(double* p, Doubles v, int n) {
#if defined(ONWARD_TARGET_AVX512)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1u), v);
#else
  for (int i = 0; i < n; ++i) p[i] = v[i];
#endif
}
#if defined(ONWARD_TARGET_AVX512)
ONWARD_INLINE Doubles LoadFirstDoubles(const double* p, int n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1u), p);
}
ONWARD_INLINE Doubles LoadFirstDoubles(const float* p, int n) {
  const FewFloats narrow = _mm256_maskz_loadu_ps(static_cast<__mmask8>((1u << n) - 1u), p);
  return ToDoubles(narrow);
}
#elif defined(ONWARD_TARGET_AVX2)
ONWARD_INLINE Doubles LoadFirstDoubles(const double* p, int n) {
  alignas(32) static constexpr int64_t kOnesThenZeros[8] = {-1, -1, -1, -1};
  return _mm256_maskload_pd(
      p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnesThenZeros + 4 - n)));
}
ONWARD_INLINE Doubles LoadFirstDoubles(const float* p, int n) {
  alignas(16) static constexpr int32_t kOnesThenZeros[8] = {-1, -1, -1, -1};
  const FewFloats narrow =
      _mm_maskload_ps(p, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOnesThenZeros + 4 - n)));
  return ToDoubles(narrow);
}
#endif

// The sum of all lanes, halves first: the order is fixed.
template <int D, int... I>
ONWARD_INLINE double SumDoubles(Doubles v, std::integer_sequence<int, I...> lanes) {
  if constexpr (D == 0) {
    return v[0];
  } else {
    return SumDoubles<D / 2>(v + __builtin_shufflevector(v, v, (I ^ D)...), lanes);
  }
}
ONWARD_INLINE double SumDoubles(Doubles v) {
  return SumDoubles<kDoubles / 2>(v, std::make_integer_sequence<int, kDoubles>());
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
