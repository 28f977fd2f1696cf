#include "kernels/cpu/reference/single_fourier.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace onward::kernels::cpu {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The product without the special cases for infinities that std::complex has.
SingleComplex Times(SingleComplex a, SingleComplex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// i * a, or -i * a.
SingleComplex Turn(SingleComplex a, float sign) { return {-sign * a.imag(), sign * a.real()}; }

// `sign` is 1 for the inverse transform, -1 for the forward one.
template <int kRadix>
void Butterfly(const SingleComplex* x, float sign, SingleComplex* y);

template <>
void Butterfly<2>(const SingleComplex* x, float, SingleComplex* y) {
  y[0] = x[0] + x[1];
  y[1] = x[0] - x[1];
}

template <>
void Butterfly<3>(const SingleComplex* x, float sign, SingleComplex* y) {
  constexpr float kSine = 0.86602540378443864676f;
  const SingleComplex sum = x[1] + x[2], difference = x[1] - x[2];
  const SingleComplex a = x[0] + sum * -0.5f;
  const SingleComplex b = Turn(difference * kSine, sign);
  y[0] = x[0] + sum;
  y[1] = a + b;
  y[2] = a - b;
}

template <>
void Butterfly<4>(const SingleComplex* x, float sign, SingleComplex* y) {
  const SingleComplex even = x[0] + x[2], even_difference = x[0] - x[2];
  const SingleComplex odd = x[1] + x[3], odd_difference = Turn(x[1] - x[3], sign);
  y[0] = even + odd;
  y[1] = even_difference + odd_difference;
  y[2] = even - odd;
  y[3] = even_difference - odd_difference;
}

template <>
void Butterfly<5>(const SingleComplex* x, float sign, SingleComplex* y) {
  constexpr float kCosine1 = 0.3090169943749474241f, kCosine2 = -0.8090169943749474241f;
  constexpr float kSine1 = 0.9510565162951535721f, kSine2 = 0.5877852522924731292f;
  const SingleComplex sum1 = x[1] + x[4], difference1 = x[1] - x[4];
  const SingleComplex sum2 = x[2] + x[3], difference2 = x[2] - x[3];
  const SingleComplex a1 = x[0] + sum1 * kCosine1 + sum2 * kCosine2;
  const SingleComplex a2 = x[0] + sum1 * kCosine2 + sum2 * kCosine1;
  const SingleComplex b1 = Turn(difference1 * kSine1 + difference2 * kSine2, sign);
  const SingleComplex b2 = Turn(difference1 * kSine2 - difference2 * kSine1, sign);
  y[0] = x[0] + sum1 + sum2;
  y[1] = a1 + b1;
  y[4] = a1 - b1;
  y[2] = a2 + b2;
  y[3] = a2 - b2;
}

// One factor: `before` is the product of the factors done already.
template <int kRadix>
void Pass(const SingleFourierPlan& plan, int64_t before, bool inverse, const SingleComplex* in,
          SingleComplex* out) {
  const int64_t after = plan.length / (before * kRadix);
  const float sign = inverse ? 1.0f : -1.0f;
  for (int64_t k = 0; k < before; ++k) {
    for (int64_t i = 0; i < after; ++i) {
      SingleComplex x[kRadix], y[kRadix];
      for (int j = 0; j < kRadix; ++j) x[j] = in[i + after * (j + kRadix * k)];
      Butterfly<kRadix>(x, sign, y);
      for (int j = 0; j < kRadix; ++j) {
        if (i > 0 && j > 0) {
          const SingleComplex twiddle = plan.twiddles[j * before * i];
          y[j] = Times(y[j], inverse ? twiddle : std::conj(twiddle));
        }
        out[i + after * (k + before * j)] = y[j];
      }
    }
  }
}

}  // namespace

SingleFourierPlan MakeSingleFourierPlan(BindContext& context, int64_t length) {
  SingleFourierPlan plan;
  plan.length = length;
  int64_t rest = length;
  const auto take = [&](int factor) {
    plan.factors[plan.num_factors++] = factor;
    rest /= factor;
  };
  while (rest % 4 == 0) take(4);
  if (rest % 2 == 0) {
    take(2);
    std::swap(plan.factors[0], plan.factors[plan.num_factors - 1]);
  }
  while (rest % 3 == 0) take(3);
  while (rest % 5 == 0) take(5);
  if (rest != 1) {
    plan.num_factors = 0;
    return plan;
  }
  auto* twiddles = context.NewArray<SingleComplex>(length);
  for (int64_t k = 0; k < length; ++k) {
    const double angle = 2 * kPi * static_cast<double>(k) / static_cast<double>(length);
    twiddles[k] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  plan.twiddles = twiddles;
  return plan;
}

void TransformSingle(const SingleFourierPlan& plan, bool inverse, float scale, SingleComplex* data,
                     SingleComplex* work) {
  SingleComplex* in = data;
  SingleComplex* out = work;
  int64_t before = 1;
  for (int f = 0; f < plan.num_factors; ++f) {
    switch (plan.factors[f]) {
      case 2:
        Pass<2>(plan, before, inverse, in, out);
        break;
      case 3:
        Pass<3>(plan, before, inverse, in, out);
        break;
      case 4:
        Pass<4>(plan, before, inverse, in, out);
        break;
      default:
        Pass<5>(plan, before, inverse, in, out);
        break;
    }
    before *= plan.factors[f];
    std::swap(in, out);
  }
  for (int64_t k = 0; k < plan.length; ++k) data[k] = in[k] * scale;
}

}  // namespace onward::kernels::cpu
