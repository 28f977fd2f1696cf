// Powers on vectors, within 0.54 units in the last place of the exact result.
#pragma once

#include "kernels/cpu/simd/doubles_inl.h"
#include "kernels/cpu/simd/math_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// 2^(y log2(x)), x = m 2^e with m in [sqrt(1/2), sqrt(2)). `reciprocal` is about 1 / (m + 1).
ONWARD_INLINE Doubles PowerOfParts(Doubles m, Doubles e, Doubles reciprocal, Doubles y) {
  // log2(m) is a series in t = (m - 1) / (m + 1); a step of Newton's makes t exact enough.
  const Doubles rest = FmaDouble(-(m + 1.0), reciprocal, SetDouble(2.0));
  const Doubles t = (m - 1.0) * (reciprocal * rest);
  const Doubles p = PolynomialDouble(t * t, 2.8853900817901903, 0.96179667321840667,
                                     0.57708360776099599, 0.41167137889690703, 0.34075459379318701);
  const Doubles power = y * FmaDouble(p, t, e);
  // Beyond, results overflow or round to zero.
  const Doubles bound = SelectDouble(power > 160.0, SetDouble(160.0), power);
  const Doubles w = SelectDouble(bound < -160.0, SetDouble(-160.0), bound);
  const Doubles shifted = w + kDoubleShift;
  const Doubles r = w - (shifted - kDoubleShift);
  const Doubles s = FmaDouble(
      r,
      PolynomialDouble(r, 0.69314720285240117, 0.2402264791362117, 0.05550332473681785,
                       0.0096184373445785763, 0.0013398873681733996, 0.00015353366760778977),
      SetDouble(1.0));
  // The integer lies in the low bits; the sum puts it into the exponent.
  return reinterpret_cast<Doubles>(reinterpret_cast<Longs>(s) +
                                   (reinterpret_cast<Longs>(shifted) << 52));
}

// |x|^|y| for finite operands that are not zero.
ONWARD_INLINE Vec PowerOfMagnitude(Vec magnitude, Vec y) {
  const IVec tiny = magnitude < Set(1.17549435e-38f);
  const Vec scaled = Select(tiny, magnitude * 8388608.0f, magnitude);
  const IVec bits = Bits(scaled);
  const IVec exponent = Signed(Unsigned(bits) - 0x3f3504f3u) >> 23;
  const Vec m = FromBits(Signed(Unsigned(bits) - (Unsigned(exponent) << 23)));
  const Vec e = ToFloat(exponent) - Select(tiny, Set(23.0f), Vec{});
  const DoublePair ms = ToDoubles(m), es = ToDoubles(e), rs = ToDoubles(1.0f / (m + 1.0f)),
                   ys = ToDoubles(y);
  return FromDoubles({PowerOfParts(ms.low, es.low, rs.low, ys.low),
                      PowerOfParts(ms.high, es.high, rs.high, ys.high)});
}

// x^y with the special values of IEEE 754's pow.
ONWARD_INLINE Vec Pow(Vec x, Vec y) {
  const Vec zero = {}, one = Set(1.0f), infinity = Set(__builtin_inff());
  const Vec a = Abs(x);
  Vec result = PowerOfMagnitude(a, y);
  const IVec is_zero = a == zero, is_infinite = a == infinity;
  const Vec end = Select(is_zero == (y < zero), infinity, zero);
  result = Select(is_zero | is_infinite, end, result);
  result = Select((x != x) | (y != y), x + y, result);
  // From 2^24 on, every exponent is even.
  const Vec whole = Min(Set(16777216.0f), Abs(y));
  const IVec integer = ToInt(whole);
  const IVec is_integral = ToFloat(integer) == whole;
  const IVec no_power = (x < zero) & ~is_integral & ~is_infinite;
  result = Select(no_power, Set(__builtin_nanf("")), result);
  const IVec is_odd = is_integral & (integer << 31);
  result = FromBits(Bits(result) | (is_odd & Bits(x)));
  const IVec is_one = (y == zero) | (x == one) | ((a == one) & (Abs(y) == infinity));
  return Select(is_one, one, result);
}

// Exponents that one multiplication or square root gives, with pow's results at infinities and
// zeros. Returns whether it wrote the powers.
inline bool RunCommonPower(const float* x, float exponent, float* out, int64_t count) {
  const auto run = [=](auto f) ONWARD_LAMBDA_INLINE {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) Store(out + i, f(Load(x + i)));
    const int left = static_cast<int>(count - i);
    if (left > 0) StoreN(out + i, f(LoadN(x + i, left)), left);
    return true;
  };
  if (exponent == 2) return run([](Vec v) ONWARD_LAMBDA_INLINE { return v * v; });
  if (exponent == 3) return run([](Vec v) ONWARD_LAMBDA_INLINE { return v * v * v; });
  if (exponent != 0.5f) return false;
  return run([](Vec v) ONWARD_LAMBDA_INLINE {
    const Vec infinity = Set(__builtin_inff());
    return Select(v == -infinity, infinity, Sqrt(v) + 0.0f);
  });
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
