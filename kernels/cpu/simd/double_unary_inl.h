// Elementary functions of float64 on vectors, within 2 units in the last place of the exact result,
// Sigmoid within 2.3.
#pragma once

#include "kernels/cpu/simd/double_unary.h"
#include "kernels/cpu/simd/doubles_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

ONWARD_INLINE Longs BitsOfDoubles(Doubles v) { return reinterpret_cast<Longs>(v); }
ONWARD_INLINE Doubles DoublesOfBits(Longs v) { return reinterpret_cast<Doubles>(v); }
ONWARD_INLINE Doubles AbsDouble(Doubles v) { return DoublesOfBits(BitsOfDoubles(v) & INT64_MAX); }

typedef uint64_t UnsignedLongs __attribute__((vector_size(4 * kLanes)));

// 2^n for integral n, -1022 <= n <= 1023.
ONWARD_INLINE Doubles DoublePowerOfTwo(Doubles n) {
  return DoublesOfBits((BitsOfDoubles(n + kDoubleShift) + 1023) << 52);
}
ONWARD_INLINE Doubles RoundDouble(Doubles x) { return (x + kDoubleShift) - kDoubleShift; }

// x = n ln 2 + r with |r| <= ln 2 / 2.
struct ReducedDouble {
  Doubles n, r;
};
ONWARD_INLINE ReducedDouble ReduceDouble(Doubles x) {
  const Doubles n = RoundDouble(x * 1.4426950408889634);
  // The first part of ln 2 has 32 bits: its product with n is exact.
  const Doubles r = FmaDouble(n, SetDouble(-6.93147180369123816490e-01), x);
  return {n, FmaDouble(n, SetDouble(-1.90821492927058770002e-10), r)};
}
// e^r - 1 - r for |r| <= ln 2 / 2.
ONWARD_INLINE Doubles ExpTail(Doubles r) {
  return r * r *
         PolynomialDouble(r, 0.50000000000000056, 0.16666666666666588, 0.04166666666657539,
                          0.0083333333333903553, 0.0013888888932050637, 0.00019841269717743457,
                          2.4801504652264169e-05, 2.7557408089674251e-06, 2.7626297935665468e-07,
                          2.5053821017037194e-08);
}

ONWARD_INLINE Doubles ExpOfDoubles(Doubles x) {
  // Below, the result rounds to 0; above, to infinity.
  x = SelectDouble(x > 710.0, SetDouble(710.0), x);
  x = SelectDouble(x < -746.0, SetDouble(-746.0), x);
  const ReducedDouble e = ReduceDouble(x);
  const Doubles half = RoundDouble(e.n * 0.5), scale = DoublePowerOfTwo(half);
  return FmaDouble(e.r + ExpTail(e.r), scale, scale) * DoublePowerOfTwo(e.n - half);
}

ONWARD_INLINE Doubles SigmoidOfDoubles(Doubles x) {
  const Doubles e = ExpOfDoubles(-AbsDouble(x));
  return SelectDouble(x < 0.0, e, SetDouble(1.0)) / (e + 1.0);
}

// (e^t - 1) / (e^t + 1) with t = |2 x|. The quotient is corrected by what the roundings of its
// numerator and denominator left out.
ONWARD_INLINE Doubles TanhOfDoubles(Doubles x) {
  const Doubles t = AbsDouble(x) * 2.0;
  const ReducedDouble e = ReduceDouble(SelectDouble(t > 40.0, SetDouble(40.0), t));
  const Doubles scale = DoublePowerOfTwo(e.n), start = scale - 1.0, tail = scale * ExpTail(e.r);
  const Doubles rest = scale * e.r;
  // |start| is 0 or above |rest|, which is above |tail|.
  const Doubles sum = start + rest, numerator = sum + tail;
  const Doubles left = (rest - (sum - start)) + (tail - (numerator - sum));
  const Doubles denominator = numerator + 2.0, reciprocal = 1.0 / denominator;
  const Doubles lost = (numerator - (denominator - 2.0)) + left;
  const Doubles q = numerator * reciprocal;
  const Doubles remainder = FmaDouble(-q, denominator, numerator) + (left - q * lost);
  const Doubles result = FmaDouble(remainder, reciprocal, q);
  return DoublesOfBits(BitsOfDoubles(result) | (BitsOfDoubles(x) & INT64_MIN));
}

// x = (1 + f) 2^e with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) is a series in s = f / (2 + f).
ONWARD_INLINE Doubles LogOfDoubles(Doubles x) {
  const Longs tiny = x < 2.2250738585072014e-308;
  const Longs bits = BitsOfDoubles(SelectDouble(tiny, x * 18014398509481984.0, x));
  // The exponent with its bias: added to the bits of 2^52, it is their last digits.
  const Longs above = bits - 0x3fe6a09e667f3bcd + (int64_t{1023} << 52);
  const Longs biased = reinterpret_cast<Longs>(reinterpret_cast<UnsignedLongs>(above) >> 52);
  const Doubles e = DoublesOfBits(biased | 0x4330000000000000) - (4503599627370496.0 + 1023.0) -
                    SelectDouble(tiny, SetDouble(54.0), Doubles{});
  const Doubles f = DoublesOfBits(bits - ((biased - 1023) << 52)) - 1.0;
  const Doubles s = f / (f + 2.0), u = s * s, half = f * f * 0.5;
  const Doubles p = u * PolynomialDouble(u, 6.666666666666735130e-01, 3.999999999940941908e-01,
                                         2.857142874366239149e-01, 2.222219843214978396e-01,
                                         1.818357216161805012e-01, 1.531383769920937332e-01,
                                         1.479819860511658591e-01);
  const Doubles low = FmaDouble(s, half + p, e * 1.90821492927058770002e-10);
  const Doubles result = e * 6.93147180369123816490e-01 - ((half - low) - f);
  const Doubles infinity = SetDouble(__builtin_inf());
  const Doubles end =
      SelectDouble(x == 0.0, -infinity, SelectDouble(x < 0.0, SetDouble(__builtin_nan("")), x));
  return SelectDouble((x > 0.0) & (x < infinity), result, end);
}

template <DoubleUnary kOp>
ONWARD_INLINE Doubles ApplyToDoubles(Doubles x) {
  if constexpr (kOp == DoubleUnary::kExp) return ExpOfDoubles(x);
  if constexpr (kOp == DoubleUnary::kLog) return LogOfDoubles(x);
  if constexpr (kOp == DoubleUnary::kSigmoid) return SigmoidOfDoubles(x);
  if constexpr (kOp == DoubleUnary::kTanh) return TanhOfDoubles(x);
}

template <DoubleUnary kOp>
void RunOnDoubles(const void* in, void* out, int64_t count, const LoopParameters&) {
  const double* x = static_cast<const double*>(in);
  double* y = static_cast<double*>(out);
  int64_t i = 0;
  for (; i + kDoubles <= count; i += kDoubles)
    StoreDoubles(y + i, ApplyToDoubles<kOp>(LoadDoubles(x + i)));
  const int left = static_cast<int>(count - i);
  if (left > 0) StoreFirstDoubles(y + i, ApplyToDoubles<kOp>(LoadFirstDoubles(x + i, left)), left);
}

template <int... kOps>
constexpr UnaryLoop UnaryOfDoublesOf(DoubleUnary op, std::integer_sequence<int, kOps...>) {
  constexpr UnaryLoop kLoops[] = {RunOnDoubles<static_cast<DoubleUnary>(kOps)>...};
  return kLoops[static_cast<int>(op)];
}
UnaryLoop UnaryOfDoubles(DoubleUnary op) {
  constexpr int kCount = static_cast<int>(DoubleUnary::kCount);
  return UnaryOfDoublesOf(op, std::make_integer_sequence<int, kCount>());
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
