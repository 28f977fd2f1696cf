// Hyperbolic functions and their inverses on vectors, with the accuracy of math_inl.h.
#pragma once

#include "kernels/cpu/simd/math_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// |x| = n ln 2 + r. sinh(n ln 2) = up - down and cosh(n ln 2) = up + down, but for the factor
// `scale` that keeps them finite.
struct HyperbolicParts {
  Vec up, down, scale;
  Vec sinh;          // of r
  Vec cosh_minus_1;  // of r
};
ONWARD_INLINE HyperbolicParts SplitHyperbolic(Vec x) {
  const ReducedExp e = ReduceExp(Min(Set(89.5f), Abs(x)));  // infinity from here on
  const Vec u = e.r * e.r;
  const IVec is_large = e.n_bits > 100;
  HyperbolicParts p;
  p.up = PowerOfTwo(e.n_bits - 1 + is_large);
  p.down = FromBits(Bits(PowerOfTwo(-1 - e.n_bits)) & ~is_large);
  p.scale = Select(is_large, Set(2.0f), Set(1.0f));
  p.sinh = Fma(e.r * u, Polynomial(u, 1.666666716e-01f, 8.333176374e-03f, 1.997301151e-04f), e.r);
  p.cosh_minus_1 = u * Polynomial(u, 0.5f, 4.166645929e-02f, 1.393545768e-03f);
  return p;
}
ONWARD_INLINE Vec Cosh(Vec x) {
  const HyperbolicParts p = SplitHyperbolic(x);
  const Vec sum = p.up + p.down, difference = p.up - p.down;
  return p.scale * (sum + Fma(sum, p.cosh_minus_1, difference * p.sinh));
}
ONWARD_INLINE Vec Sinh(Vec x) {
  const HyperbolicParts p = SplitHyperbolic(x);
  const Vec sum = p.up + p.down, difference = p.up - p.down;
  return CopySign(p.scale * (difference + Fma(difference, p.cosh_minus_1, sum * p.sinh)), x);
}

// log(1 + y + rest) for y >= 0 and a small rest.
ONWARD_INLINE Vec Log1p(Vec y, Vec rest) {
  const Vec u = y + 1.0f;
  const SplitFloat s = SplitLog(u);
  return LogOfParts(s.f, s.e, Fma(s.e, Set(-2.12194440e-4f), (y - (u - 1.0f) + rest) / u));
}

// Above, log(2 x) stands for acosh(x) and asinh(x).
inline constexpr float kHyperbolicLimit = 8192.0f;
ONWARD_INLINE Vec InverseHyperbolic(Vec x, Vec y, Vec rest) {
  const IVec is_large = x > Set(kHyperbolicLimit);
  const Vec u = Select(is_large, x, y + 1.0f);
  const SplitFloat s = SplitLog(u);
  const Vec e = s.e + Select(is_large, Set(1.0f), Vec{});
  const Vec lost = Select(is_large, Vec{}, (y - (u - 1.0f) + rest) / u);
  return LogOfParts(s.f, e, Fma(e, Set(-2.12194440e-4f), lost));
}
// log(1 + t + sqrt(t^2 + 2 t)) with t = x - 1, which is exact where it matters.
ONWARD_INLINE Vec Acosh(Vec x) {
  const Vec t = x - 1.0f;
  const Vec root = Sqrt(Fma(t, t, 2.0f * t));
  const Vec y = t + root;
  const Vec result = InverseHyperbolic(x, y, t - (y - root));
  const Vec infinity = Set(__builtin_inff());
  return Select((x >= Set(1.0f)) & (x < infinity), result,
                Select(x < Set(1.0f), Set(__builtin_nanf("")), x));
}
// log(1 + t + t^2 / (1 + sqrt(1 + t^2))) with t = |x|.
ONWARD_INLINE Vec Asinh(Vec x) {
  const Vec t = Abs(x), u = t * t;
  const Vec more = u / (1.0f + Sqrt(u + 1.0f));
  const Vec y = t + more;
  const Vec result = CopySign(InverseHyperbolic(t, y, more - (y - t)), x);
  return Select(t < Set(__builtin_inff()), result, x);
}
ONWARD_INLINE Vec Atanh(Vec x) {
  const Vec t = Abs(x), u = t * t;
  const Vec p = Polynomial(u, 3.333333731e-01f, 1.999962330e-01f, 1.429774016e-01f,
                           1.093068942e-01f, 1.051442549e-01f, 1.732206158e-02f, 1.846480817e-01f);
  const Vec small = Fma(t * u, p, t);
  const Vec large = 0.5f * Log1p(2.0f * t / (1.0f - t), Vec{});
  const Vec end = Select(t == Set(1.0f), Set(__builtin_inff()), Set(__builtin_nanf("")));
  const Vec beyond = Select(t < Set(1.0f), large, end);
  return CopySign(Select(t < Set(0.5f), small, beyond), x);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
