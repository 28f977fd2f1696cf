// Vectors of doubles for steps of float32 functions that float32 is too narrow for: each has half
// the lanes of a vector of floats.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

typedef double Doubles __attribute__((vector_size(4 * kLanes)));
typedef int64_t Longs __attribute__((vector_size(4 * kLanes)));  // also lane masks: 0 or -1
typedef float FewFloats __attribute__((vector_size(2 * kLanes)));

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

// a0 + a1 x + a2 x^2 + ...
ONWARD_INLINE Doubles PolynomialDouble(Doubles, double a) { return SetDouble(a); }
template <typename... Rest>
ONWARD_INLINE Doubles PolynomialDouble(Doubles x, double a, Rest... rest) {
  return FmaDouble(PolynomialDouble(x, rest...), x, SetDouble(a));
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
