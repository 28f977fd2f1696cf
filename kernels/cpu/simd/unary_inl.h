// Functions of one operand on vectors, with the accuracy of math_inl.h; what other kernels need too
// is there.
#pragma once

#include "kernels/cpu/simd/hyperbolic_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"
#include "kernels/cpu/simd/trigonometry_inl.h"
#include "kernels/cpu/simd/unary.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// log(1 + y) for 0 <= y <= 1.
ONWARD_INLINE Vec Log1pOfUnit(Vec y) {
  const IVec halved = y > Set(0.414213562f);
  const Vec f = Select(halved, (y - 1.0f) * 0.5f, y);
  return LogOfParts(f, Select(halved, Set(1.0f), Vec{}),
                    Select(halved, Set(-2.12194440e-4f), Vec{}));
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

// The function of one op on a vector; a and b are its parameters.
template <FloatUnary kOp>
ONWARD_INLINE Vec ApplyUnary(Vec x, [[maybe_unused]] Vec a, [[maybe_unused]] Vec b) {
  const Vec zero = {}, one = Set(1.0f);
  if constexpr (kOp == FloatUnary::kAbs) return Abs(x);
  if constexpr (kOp == FloatUnary::kAcos) return Acos(x);
  if constexpr (kOp == FloatUnary::kAcosh) return Acosh(x);
  if constexpr (kOp == FloatUnary::kAsin) return Asin(x);
  if constexpr (kOp == FloatUnary::kAsinh) return Asinh(x);
  if constexpr (kOp == FloatUnary::kAtan) return Atan(x);
  if constexpr (kOp == FloatUnary::kAtanh) return Atanh(x);
  if constexpr (kOp == FloatUnary::kCeil) return -Floor(-x);
  if constexpr (kOp == FloatUnary::kCelu) return Select(x < zero, a * Expm1(x / a), x);
  if constexpr (kOp == FloatUnary::kCos) return Cos(x);
  if constexpr (kOp == FloatUnary::kCosh) return Cosh(x);
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
  if constexpr (kOp == FloatUnary::kShrink)
    return Select(x < -a, x + b, Select(x > a, x - b, zero));
  if constexpr (kOp == FloatUnary::kSigmoid) return Sigmoid(x);
  if constexpr (kOp == FloatUnary::kSin) return Sin(x);
  if constexpr (kOp == FloatUnary::kSinh) return Sinh(x);
  if constexpr (kOp == FloatUnary::kSoftplus) return Softplus(x);
  if constexpr (kOp == FloatUnary::kSoftsign) return x / (one + Abs(x));
  if constexpr (kOp == FloatUnary::kSqrt) return Sqrt(x);
  if constexpr (kOp == FloatUnary::kSwish) return x * Sigmoid(a * x);
  if constexpr (kOp == FloatUnary::kTan) return Tan(x);
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
