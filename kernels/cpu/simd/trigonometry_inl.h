// Functions of angles on vectors, with the accuracy of math_inl.h; sines and cosines of large
// angles are as near in absolute terms.
#pragma once

#include "kernels/cpu/simd/doubles_inl.h"
#include "kernels/cpu/simd/math_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// Computes with 1 / t and (t - 1) / (t + 1) where t = |x| is large or near 1.
ONWARD_INLINE Vec Atan(Vec x) {
  const Vec t = Abs(x), one = Set(1.0f);
  const IVec large = t > Set(2.41421356f), middle = t > Set(0.414213562f);
  const Vec above = Select(large, -one, t - one), below = Select(large, t, t + one);
  const Vec r = Select(middle, above / below, t);
  const Vec u = r * r;
  const Vec p =
      Polynomial(u, -3.33329491539e-1f, 1.99777106478e-1f, -1.38776856032e-1f, 8.05374449538e-2f);
  // pi / 2 or pi / 4, and what rounding it left out.
  const Vec turn = Select(large, Set(1.57079633f), Select(middle, Set(0.785398163f), Vec{}));
  const Vec rest = Select(large, Set(-4.37113900e-8f), Select(middle, Set(-2.18556941e-8f), Vec{}));
  return CopySign(turn + (Fma(p * u, r, r) + rest), x);
}

// sin(x + quadrant pi / 2). Lanes beyond the range of the reduction are computed one by one.
ONWARD_INLINE Vec SinQuadrant(Vec x, int32_t quadrant) {
  const Vec shift = Set(12582912.0f);
  const Vec shifted = Fma(x, Set(0.636619772f), shift);
  const Vec n = shifted - shift;
  Vec r = Fma(n, Set(-1.5703125f), x);
  r = Fma(n, Set(-4.8375129700e-04f), r);
  r = Fma(n, Set(-7.5497901264e-08f), r);
  const IVec q = Bits(shifted) - Bits(shift) + quadrant;
  const Vec u = r * r;
  const Vec sine = Fma(
      r * u,
      Polynomial(u, -1.666666664e-01f, 8.333329374e-03f, -1.983933100e-04f, 2.718274481e-06f), r);
  const Vec cosine =
      Fma(u * u, Polynomial(u, 4.166664681e-02f, -1.388736448e-03f, 2.443809085e-05f),
          Fma(u, Set(-0.5f), Set(1.0f)));
  Vec result = Select((q & 1) != 0, cosine, sine);
  return FromBits(Bits(result) ^ ((q & 2) << 30));
}
inline constexpr float kSinRange = 8192.0f;
ONWARD_INLINE bool AnyBeyond(Vec x, float limit) {
  const IVec beyond = ~(Abs(x) <= Set(limit));
  int32_t any = 0;
  for (int i = 0; i < kLanes; ++i) any |= beyond[i];
  return any != 0;
}
ONWARD_INLINE Vec Sin(Vec x) {
  Vec result = Select(x == Vec{}, x, SinQuadrant(x, 0));  // keeps -0
  if (__builtin_expect(AnyBeyond(x, kSinRange), 0)) {
    for (int i = 0; i < kLanes; ++i) result[i] = __builtin_sinf(x[i]);
  }
  return result;
}
ONWARD_INLINE Vec Cos(Vec x) {
  Vec result = SinQuadrant(x, 1);
  if (__builtin_expect(AnyBeyond(x, kSinRange), 0)) {
    for (int i = 0; i < kLanes; ++i) result[i] = __builtin_cosf(x[i]);
  }
  return result;
}

// sin(r) and cos(r) in double for r = x - n pi / 2, |r| <= 0.8.
struct SineAndCosine {
  Doubles sine, cosine;
};
ONWARD_INLINE SineAndCosine ReducedSineAndCosine(Doubles x, Doubles n) {
  // The first part of pi / 2 has 33 bits: its product with n is exact.
  const Doubles r = FmaDouble(n, SetDouble(-6.07710050650619224932e-11),
                              FmaDouble(n, SetDouble(-1.57079632673412561417), x));
  const Doubles u = r * r;
  const Doubles sine = PolynomialDouble(u, 1.0, -0.16666652959488734, 0.0083320513895201037,
                                        -0.00019500033259507504);
  const Doubles cosine = PolynomialDouble(u, 1.0, -0.5, 0.041666643512896444,
                                          -0.0013887200462058139, 2.4419081420814695e-05);
  return {r * sine, cosine};
}
inline constexpr float kTanRange = 131072.0f;
ONWARD_INLINE Vec Tan(Vec x) {
  const Vec shift = Set(12582912.0f);
  const Vec shifted = Fma(x, Set(0.636619772f), shift);
  const DoublePair xs = ToDoubles(x), ns = ToDoubles(shifted - shift);
  const SineAndCosine low = ReducedSineAndCosine(xs.low, ns.low);
  const SineAndCosine high = ReducedSineAndCosine(xs.high, ns.high);
  const Vec sine = FromDoubles({low.sine, high.sine}),
            cosine = FromDoubles({low.cosine, high.cosine});
  const IVec is_odd = (Bits(shifted) & 1) != 0;  // shift is even
  Vec result = Select(is_odd, -cosine, sine) / Select(is_odd, sine, cosine);
  if (__builtin_expect(AnyBeyond(x, kTanRange), 0)) {
    for (int i = 0; i < kLanes; ++i)
      if (!(__builtin_fabsf(x[i]) <= kTanRange)) result[i] = __builtin_tanf(x[i]);
  }
  return result;
}

// The arc sine of s is s + s z p(z) with z = s^2 <= 1/4. Above 1/2, s = sin(pi / 4 - asin(|x|) / 2)
// stands for |x|.
struct ReducedArc {
  IVec is_large;
  Vec s, rest;  // of the arc, which is s + rest
};
ONWARD_INLINE ReducedArc ReduceArc(Vec t) {
  const IVec is_large = t > Set(0.5f);
  const Vec z = Select(is_large, (1.0f - t) * 0.5f, t * t);
  const Vec s = Select(is_large, Sqrt(z), t);
  const Vec p = Polynomial(z, 1.666675359e-01f, 7.495252043e-02f, 4.547604173e-02f,
                           2.415209077e-02f, 4.221180826e-02f);
  return {is_large, s, s * (z * p)};
}
// pi / 2 and pi, and what rounding them left out.
inline constexpr float kRightAngle = 1.57079633f, kRightAngleRest = -4.37113900e-8f;
ONWARD_INLINE Vec Asin(Vec x) {
  const ReducedArc a = ReduceArc(Abs(x));
  const Vec large = kRightAngle - (2.0f * a.s + (2.0f * a.rest - kRightAngleRest));
  return CopySign(Select(a.is_large, large, a.s + a.rest), x);
}
ONWARD_INLINE Vec Acos(Vec x) {
  const ReducedArc a = ReduceArc(Abs(x));
  // 2 arc; pi - 2 arc; pi / 2 - asin(x).
  const Vec factor = Select(a.is_large, Set(2.0f), CopySign(Set(1.0f), x));
  const Vec s = factor * a.s, rest = factor * a.rest;
  const Vec turns = Select(a.is_large, Set(2.0f), Set(1.0f));
  const Vec below = turns * kRightAngle - (s + (rest - turns * kRightAngleRest));
  return Select(x > Set(0.5f), s + rest, below);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
