#include "kernels/cpu/simd/winograd.h"

namespace onward::kernels::cpu {
namespace {

// Frequency i of a row of three taps is (g[0] + g[1] p + g[2] p^2) / product over the other points
// q of (p - q), for the i-th point p, and g[2] at infinity. `to` is written at a step of `step`.
struct Taps {
  double g[3];
};

void Frequencies2(const Taps& t, double* to, int64_t step) {
  const double even = (t.g[0] + t.g[2]) / 2, odd = t.g[1] / 2;
  to[0] = -t.g[0];
  to[step] = even + odd;
  to[2 * step] = even - odd;
  to[3 * step] = t.g[2];
}

void Frequencies4(const Taps& t, double* to, int64_t step) {
  constexpr double kA = 0.75, kB = 1.5;
  constexpr double kAtZero = 1 / (kA * kA * kB * kB);
  constexpr double kAtA = 1 / (2 * kA * kA * (kA * kA - kB * kB));
  constexpr double kAtB = 1 / (2 * kB * kB * (kB * kB - kA * kA));
  to[0] = t.g[0] * kAtZero;
  const double even_a = (t.g[0] + t.g[2] * (kA * kA)) * kAtA, odd_a = t.g[1] * (kA * kAtA);
  to[step] = even_a + odd_a;
  to[2 * step] = even_a - odd_a;
  const double even_b = (t.g[0] + t.g[2] * (kB * kB)) * kAtB, odd_b = t.g[1] * (kB * kAtB);
  to[3 * step] = even_b + odd_b;
  to[4 * step] = even_b - odd_b;
  to[5 * step] = t.g[2];
}

}  // namespace

void TransformFilter(int64_t m, const float* g, float* u) {
  const auto frequencies = m == 2 ? Frequencies2 : Frequencies4;
  const int64_t window = m + 2;
  double columns[kMaxWinogradWindow][3], all[kMaxWinogradFrequencies];
  for (int x = 0; x < 3; ++x) frequencies({{g[x], g[3 + x], g[6 + x]}}, &columns[0][x], 3);
  for (int64_t y = 0; y < window; ++y)
    frequencies({{columns[y][0], columns[y][1], columns[y][2]}}, all + y * window, 1);
  for (int64_t f = 0; f < window * window; ++f) u[f] = static_cast<float>(all[f]);
}

}  // namespace onward::kernels::cpu
