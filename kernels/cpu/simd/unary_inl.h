// Functions of one operand on vectors, with the accuracy of math_inl.h; what other kernels need too
// is there.
#pragma once

#include "kernels/cpu/simd/math_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"
#include "kernels/cpu/simd/unary.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// log(1 + y) for 0 <= y <= 1.
ONWARD_INLINE Vec Log1pOfUnit(Vec y) {
  const Vec u = y + 1.0f;
  return Log(u) + (y - (u - 1.0f)) / u;
}
ONWARD_INLINE Vec Softplus(Vec x) {
  return Max(Vec{}, x) + Log1pOfUnit(Exp(FromBits(Bits(x) | SetInt(INT32_MIN))));
}
// x tanh(softplus(x)); with n = e^x (e^x + 2) it is x n / (n + 2).
ONWARD_INLINE Vec Mish(Vec x) {
  const Vec e = Exp(Min(Set(20.0f), x));
  const Vec n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

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
  Vec result = SinQuadrant(x, 0);
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

// The function of one op on a vector; a and b are its parameters.
template <FloatUnary kOp>
ONWARD_INLINE Vec ApplyUnary(Vec x, [[maybe_unused]] Vec a, [[maybe_unused]] Vec b) {
  const Vec zero = {}, one = Set(1.0f);
  if constexpr (kOp == FloatUnary::kAbs) return Abs(x);
  if constexpr (kOp == FloatUnary::kAtan) return Atan(x);
  if constexpr (kOp == FloatUnary::kCeil) return -Floor(-x);
  if constexpr (kOp == FloatUnary::kCelu) return Select(x < zero, a * Expm1(x / a), x);
  if constexpr (kOp == FloatUnary::kCos) return Cos(x);
  if constexpr (kOp == FloatUnary::kElu) return Select(x < zero, a * Expm1(x), x);
  if constexpr (kOp == FloatUnary::kErf) return Erf(x);
  if constexpr (kOp == FloatUnary::kExp) return Exp(x);
  if constexpr (kOp == FloatUnary::kFloor) return Floor(x);
  if constexpr (kOp == FloatUnary::kGelu) return Gelu(x);
  if constexpr (kOp == FloatUnary::kGeluTanh) return GeluTanh(x);
  if constexpr (kOp == FloatUnary::kHardSigmoid) return Min(one, Max(zero, Fma(x, a, b)));
  if constexpr (kOp == FloatUnary::kHardSwish) return HardSwish(x);
  if constexpr (kOp == FloatUnary::kLeakyRelu) return Select(x < zero, a * x, x);
  if constexpr (kOp == FloatUnary::kLog) return Log(x);
  if constexpr (kOp == FloatUnary::kMish) return Mish(x);
  if constexpr (kOp == FloatUnary::kNeg) return -x;
  if constexpr (kOp == FloatUnary::kReciprocal) return one / x;
  if constexpr (kOp == FloatUnary::kRelu) return Max(zero, x);
  if constexpr (kOp == FloatUnary::kRound) return RoundEven(x);
  if constexpr (kOp == FloatUnary::kSelu) return b * Select(x < zero, a * Expm1(x), x);
  if constexpr (kOp == FloatUnary::kSigmoid) return Sigmoid(x);
  if constexpr (kOp == FloatUnary::kSin) return Sin(x);
  if constexpr (kOp == FloatUnary::kSoftplus) return Softplus(x);
  if constexpr (kOp == FloatUnary::kSoftsign) return x / (one + Abs(x));
  if constexpr (kOp == FloatUnary::kSqrt) return Sqrt(x);
  if constexpr (kOp == FloatUnary::kSwish) return x * Sigmoid(a * x);
  if constexpr (kOp == FloatUnary::kTanh) return Tanh(x);
  if constexpr (kOp == FloatUnary::kThresholdedRelu) return Select(x > a, x, zero);
}

template <FloatUnary kOp>
void RunUnary(const void* in, void* out, int64_t count, const LoopParameters& parameters) {
  const float* x = static_cast<const float*>(in);
  float* y = static_cast<float*>(out);
  const Vec a = Set(parameters.values[0]), b = Set(parameters.values[1]);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(y + i, ApplyUnary<kOp>(Load(x + i), a, b));
  const int left = static_cast<int>(count - i);
  if (left > 0) StoreN(y + i, ApplyUnary<kOp>(LoadN(x + i, left), a, b), left);
}

template <int... kOps>
constexpr UnaryLoop UnaryOf(FloatUnary op, std::integer_sequence<int, kOps...>) {
  constexpr UnaryLoop kLoops[] = {RunUnary<static_cast<FloatUnary>(kOps)>...};
  return kLoops[static_cast<int>(op)];
}
UnaryLoop Unary(FloatUnary op) {
  constexpr int kCount = static_cast<int>(FloatUnary::kCount);
  return UnaryOf(op, std::make_integer_sequence<int, kCount>());
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
