#include "kernels/cpu/reference/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace onward::kernels::cpu {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The product without the special cases for infinities that std::complex has.
Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void Radix2(const Complex* roots, int64_t n, Complex* data) {
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j |= bit;
    if (i < j) std::swap(data[i], data[j]);
  }
  for (int64_t half = 1; half < n; half *= 2) {
    const int64_t step = n / (2 * half);
    for (int64_t start = 0; start < n; start += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        const Complex odd = Times(data[start + half + k], roots[k * step]);
        const Complex even = data[start + k];
        data[start + k] = even + odd;
        data[start + half + k] = even - odd;
      }
    }
  }
}

}  // namespace

FourierPlan MakeFourierPlan(BindContext& context, int64_t length) {
  FourierPlan plan;
  plan.length = length;
  const bool power = std::has_single_bit(static_cast<uint64_t>(length));
  plan.padded =
      power ? length : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * length - 1)));
  Complex* roots = context.NewArray<Complex>(std::max<int64_t>(1, plan.padded / 2));
  for (int64_t k = 0; k < plan.padded / 2; ++k)
    roots[k] =
        std::polar(1.0, -2 * kPi * static_cast<double>(k) / static_cast<double>(plan.padded));
  plan.roots = roots;
  if (power) return plan;
  Complex* chirp = context.NewArray<Complex>(length);
  for (int64_t k = 0; k < length; ++k) {
    // k^2 modulo 2 length keeps the angle exact.
    const auto square = static_cast<int64_t>(static_cast<unsigned __int128>(k) * k % (2 * length));
    chirp[k] = std::polar(1.0, -kPi * static_cast<double>(square) / static_cast<double>(length));
  }
  plan.chirp = chirp;
  Complex* kernel = context.NewArray<Complex>(plan.padded);
  kernel[0] = std::conj(chirp[0]);
  for (int64_t k = 1; k < length; ++k) kernel[k] = kernel[plan.padded - k] = std::conj(chirp[k]);
  Radix2(roots, plan.padded, kernel);
  plan.kernel = kernel;
  return plan;
}

void Transform(const FourierPlan& plan, Complex* data, Complex* work) {
  if (plan.chirp == nullptr) return Radix2(plan.roots, plan.length, data);
  for (int64_t k = 0; k < plan.length; ++k) work[k] = Times(data[k], plan.chirp[k]);
  std::fill(work + plan.length, work + plan.padded, Complex(0));
  Radix2(plan.roots, plan.padded, work);
  // The inverse transform of the product, by conjugation.
  for (int64_t k = 0; k < plan.padded; ++k) work[k] = std::conj(Times(work[k], plan.kernel[k]));
  Radix2(plan.roots, plan.padded, work);
  const double scale = 1.0 / static_cast<double>(plan.padded);
  for (int64_t k = 0; k < plan.length; ++k)
    data[k] = Times(std::conj(work[k]) * scale, plan.chirp[k]);
}

void InverseTransform(const FourierPlan& plan, Complex* data, Complex* work) {
  for (int64_t k = 0; k < plan.length; ++k) data[k] = std::conj(data[k]);
  Transform(plan, data, work);
  for (int64_t k = 0; k < plan.length; ++k) data[k] = std::conj(data[k]);
}

}  // namespace onward::kernels::cpu
