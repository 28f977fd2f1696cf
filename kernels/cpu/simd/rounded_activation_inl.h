// Activations and powers of sums of products of bfloat16, whose operands were rounded to 2^-9:
// within 2^-12 of the exact result, of Gelu below zero within 2^-10. Polynomials are minimax fits.
// NaN stays NaN.
#pragma once

#include "kernels/cpu/simd/math_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {
namespace rounded {

// 2^z.
ONWARD_INLINE Vec Power(Vec z) {
  constexpr int kFloor = 0x09;  // z - floor(z), which is 0 for infinities
  const Vec fraction = _mm512_maskz_reduce_ps(0xffff, z, kFloor);
  const Vec power = Polynomial(fraction, 0.99992522f, 0.69583353f, 0.22606716f, 0.07802452f);
  return Scale(power, z);  // by floor(z)
}

// 1 / (1 + 2^z).
ONWARD_INLINE Vec Logistic(Vec z) { return _mm512_maskz_rcp14_ps(0xffff, Power(z) + 1.0f); }

ONWARD_INLINE Vec Sigmoid(Vec x) { return Logistic(x * -1.44269504f); }
ONWARD_INLINE Vec Silu(Vec x) { return x * Sigmoid(x); }

// x Phi(x), Phi the normal distribution: the logarithm of Phi(x) / Phi(-x) is odd and smooth.
ONWARD_INLINE Vec Gelu(Vec x) {
  const Vec u = Min(Set(20.25f), x * x);
  const Vec q =
      Polynomial(u, -2.2993653f, -0.10797518f, 1.1391524e-03f, 6.9334350e-06f, -4.5282864e-07f);
  return x * Logistic(x * q);
}
// (1 + tanh(y)) / 2 is 1 / (1 + e^-2y).
ONWARD_INLINE Vec GeluTanh(Vec x) {
  const Vec q = Fma(x * x, Set(-0.102943242f), Set(-2.30220820f));
  return x * Logistic(x * q);
}

}  // namespace rounded
}  // namespace onward::kernels::cpu::ONWARD_TARGET
