// Elementary functions on vectors that several kernels need, within about 2 units in the last place
// of the exact result; polynomials are minimax fits on the reduced range. NaN stays NaN, overflow
// gives infinity.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// a0 + a1 x + a2 x^2 + ...
ONWARD_INLINE Vec Polynomial(Vec, float a) { return Set(a); }
template <typename... Rest>
ONWARD_INLINE Vec Polynomial(Vec x, float a, Rest... rest) {
  return Fma(Polynomial(x, rest...), x, Set(a));
}

// x = n ln 2 + r with |r| <= ln 2 / 2, for |x| < 2^20.
struct ReducedExp {
  Vec n;  // integral
  IVec n_bits;
  Vec r;
};
ONWARD_INLINE ReducedExp ReduceExp(Vec x) {
  const Vec shift = Set(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Vec shifted = Fma(x, Set(1.44269504f), shift);
  const Vec n = shifted - shift;
  Vec r = Fma(n, Set(-0.693359375f), x);
  r = Fma(n, Set(2.12194440e-4f), r);
  return {n, Bits(shifted) - Bits(shift), r};
}
// e^r - 1 for |r| <= ln 2 / 2.
ONWARD_INLINE Vec Expm1Reduced(Vec r) {
  const Vec p = Polynomial(r, 5.000000062e-01f, 1.666654255e-01f, 4.166628063e-02f,
                           8.366643946e-03f, 1.394655445e-03f);
  return Fma(p * r, r, r);
}
// 2^n for -126 <= n <= 127.
ONWARD_INLINE Vec PowerOfTwo(IVec n) { return FromBits((n + 127) << 23); }

// x 2^n, n integral.
#if defined(ONWARD_TARGET_AVX512)
ONWARD_INLINE Vec Scale(Vec x, Vec n) { return _mm512_maskz_scalef_ps(0xffff, x, n); }
#endif

ONWARD_INLINE Vec Exp(Vec x) {
  // Below, the result rounds to 0; above, to infinity.
  x = Min(Set(90.0f), Max(Set(-105.0f), x));
  const ReducedExp e = ReduceExp(x);
#if defined(ONWARD_TARGET_AVX512)
  return Scale(Expm1Reduced(e.r) + 1.0f, e.n);
#endif
  const IVec half = e.n_bits >> 1;
  const Vec low = PowerOfTwo(half);
  return Fma(Expm1Reduced(e.r), low, low) * PowerOfTwo(e.n_bits - half);
}

// Exp for x <= 0 that gives 0 instead of denormals: for softmax.
ONWARD_INLINE Vec ExpOfNegative(Vec x) {
#if defined(ONWARD_TARGET_AVX512)
  const ReducedExp reduced = ReduceExp(Max(Set(-87.0f), x));
  const __mmask16 in_range = _mm512_cmp_ps_mask(x, Set(-87.0f), _CMP_NLT_UQ);  // or NaN
  return _mm512_maskz_scalef_ps(in_range, Expm1Reduced(reduced.r) + 1.0f, reduced.n);
#else
  const IVec in_range = x >= Set(-87.0f);
  const ReducedExp e = ReduceExp(Max(Set(-87.0f), x));
  const Vec scale = PowerOfTwo(e.n_bits);
  const Vec result = Fma(Expm1Reduced(e.r), scale, scale);
  return Select(in_range | (x != x), result, Vec{});
#endif
}

ONWARD_INLINE Vec Expm1(Vec x) {
  x = Min(Set(90.0f), Max(Set(-18.0f), x));
  const ReducedExp e = ReduceExp(x);
  const IVec half = e.n_bits >> 1;
  const Vec a = PowerOfTwo(half), b = PowerOfTwo(e.n_bits - half);
  return Fma(Expm1Reduced(e.r) * a, b, Fma(a, b, Set(-1.0f)));
}

ONWARD_INLINE Vec CopySign(Vec magnitude, Vec sign) {
  return FromBits(Bits(magnitude) | (Bits(sign) & SetInt(INT32_MIN)));
}

ONWARD_INLINE Vec Tanh(Vec x) {
  const Vec t = Min(Set(20.0f), Abs(x) * 2.0f);  // 1 from here on
  const ReducedExp e = ReduceExp(t);
  const Vec scale = PowerOfTwo(e.n_bits);
  const Vec m = Fma(Expm1Reduced(e.r), scale, scale - 1.0f);  // e^t - 1
  return CopySign(m / (m + 2.0f), x);
}

ONWARD_INLINE Vec Sigmoid(Vec x) {
  // Both branches from e^-|x|, which does not overflow.
  const Vec e = Exp(FromBits(Bits(x) | SetInt(INT32_MIN)));
  return Select(x >= Vec{}, Set(1.0f), e) / (e + 1.0f);
}

// 1 - erf of |x| >= 0.9 as exp(-t q(t)).
ONWARD_INLINE Vec ErfComplement(Vec t) {
  const Vec q = Polynomial(t, 1.128519953e+00f, 6.356993684e-01f, 1.052868542e-01f,
                           -2.290603087e-02f, 3.219975404e-03f, -2.145950101e-04f);
  const ReducedExp e = ReduceExp(-(t * q));
  const Vec scale = PowerOfTwo(e.n_bits);
  return Fma(Expm1Reduced(e.r), scale, scale);
}
ONWARD_INLINE Vec Erf(Vec x) {
  const Vec t = Abs(x);
  const Vec u = x * x;
  const Vec small = x * Polynomial(u, 1.128379154e+00f, -3.761252328e-01f, 1.128214081e-01f,
                                   -2.677890893e-02f, 5.011962849e-03f, -6.090360136e-04f);
  const Vec large = CopySign(1.0f - ErfComplement(Min(Set(4.0f), t)), x);
  return Select(t < Set(0.9f), small, large);
}

ONWARD_INLINE Vec ToFloat(IVec v) { return __builtin_convertvector(v, Vec); }
ONWARD_INLINE IVec ToInt(Vec v) { return __builtin_convertvector(v, IVec); }  // toward zero

// x = (1 + f) 2^e with 1 + f in [sqrt(1/2), sqrt(2)), for normal x > 0.
struct SplitFloat {
  Vec f, e;
};
ONWARD_INLINE SplitFloat SplitLog(Vec x) {
  const IVec bits = Bits(x);
  const IVec exponent = Signed(Unsigned(bits) - 0x3f3504f3u) >> 23;
  return {FromBits(Signed(Unsigned(bits) - (Unsigned(exponent) << 23))) - 1.0f, ToFloat(exponent)};
}
// log(1 + f) + e ln 2 + the part of e ln 2 that is left out here, which `rest` has.
ONWARD_INLINE Vec LogOfParts(Vec f, Vec e, Vec rest) {
  const Vec p =
      Polynomial(f, 3.333333161e-01f, -2.500082440e-01f, 2.000123990e-01f, -1.662323929e-01f,
                 1.420134807e-01f, -1.316098342e-01f, 1.276507648e-01f, -7.636810310e-02f);
  const Vec f2 = f * f;
  const Vec low = Fma(f2, Set(-0.5f), Fma(p * f, f2, rest));
  return Fma(e, Set(0.693359375f), f + low);
}
ONWARD_INLINE Vec Log(Vec x) {
  const IVec tiny = x < Set(1.17549435e-38f);
  const SplitFloat s = SplitLog(Select(tiny, x * 8388608.0f, x));
  const Vec e = s.e - Select(tiny, Set(23.0f), Vec{});
  const Vec result = LogOfParts(s.f, e, e * -2.12194440e-4f);
  const Vec infinity = Set(__builtin_inff());
  const Vec special = Select(x == Vec{}, -infinity, Select(x < Vec{}, Set(__builtin_nanf("")), x));
  return Select((x > Vec{}) & (x < infinity), result, special);
}

ONWARD_INLINE Vec RoundEven(Vec x) {
  // Beyond 2^23 every float is integral.
  const Vec shift = CopySign(Set(8388608.0f), x);
  const Vec rounded = (x + shift) - shift;
  return Select(Abs(x) < Set(8388608.0f), CopySign(Abs(rounded), x), x);
}
ONWARD_INLINE Vec Floor(Vec x) {
  const Vec r = RoundEven(x);
  return CopySign(Abs(r - Select(r > x, Set(1.0f), Vec{})), Select(x == Vec{}, x, r - 0.5f));
}

ONWARD_INLINE Vec Gelu(Vec x) {
  const Vec half = x * 0.5f;
  return Fma(half, Erf(x * 0.707106781f), half);
}
ONWARD_INLINE Vec GeluTanh(Vec x) {
  const Vec half = x * 0.5f;
  const Vec inner = x * Fma(x * x, Set(0.0356774081f), Set(0.797884561f));
  return Fma(half, Tanh(inner), half);
}
ONWARD_INLINE Vec Silu(Vec x) { return x * Sigmoid(x); }
ONWARD_INLINE Vec HardSigmoid(Vec x, float alpha, float beta) {
  return Min(Set(1.0f), Max(Vec{}, Fma(x, Set(alpha), Set(beta))));
}
ONWARD_INLINE Vec HardSwish(Vec x) { return x * HardSigmoid(x, 1.0f / 6.0f, 0.5f); }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
