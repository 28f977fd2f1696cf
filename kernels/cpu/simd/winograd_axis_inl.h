// Winograd's transforms along one axis; see winograd.h.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// Along one axis: `Filter` is G, `Window` is B^T and `Output` A^T of the paper, `Pixels` is A and
// `Taps` G^T; winograd.cc has the formula of `Filter`.
template <int kOutput>
struct WinogradAxis;

template <>
struct WinogradAxis<2> {
  static ONWARD_INLINE void Filter(const Vec (&g)[3], Vec (&u)[4]) {
    const Vec half = Set(0.5f), even = (g[0] + g[2]) * half, odd = g[1] * half;
    u[0] = -g[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = g[2];
  }
  static ONWARD_INLINE void Window(const Vec (&d)[4], Vec (&v)[4]) {
    v[0] = d[2] - d[0];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
  }
  static ONWARD_INLINE void Output(const Vec (&m)[4], Vec (&y)[2]) {
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) + m[3];
  }
  static ONWARD_INLINE void Pixels(const Vec (&y)[2], Vec (&m)[4]) {
    m[0] = y[0];
    m[1] = y[0] + y[1];
    m[2] = y[0] - y[1];
    m[3] = y[1];
  }
  static ONWARD_INLINE void Taps(const Vec (&u)[4], Vec (&g)[3]) {
    const Vec half = Set(0.5f), even = (u[1] + u[2]) * half;
    g[0] = even - u[0];
    g[1] = (u[1] - u[2]) * half;
    g[2] = even + u[3];
  }
};

template <>
struct WinogradAxis<4> {
  static constexpr float kA = 0.75f, kB = 1.5f;
  static constexpr float kAA = kA * kA, kBB = kB * kB;
  static constexpr float kAtZero = 1 / (kAA * kBB);
  static constexpr float kAtA = 1 / (2 * kAA * (kAA - kBB)), kAtB = 1 / (2 * kBB * (kBB - kAA));

  static ONWARD_INLINE void Filter(const Vec (&g)[3], Vec (&u)[6]) {
    u[0] = g[0] * Set(kAtZero);
    const Vec even_a = Fma(Set(kAA), g[2], g[0]) * Set(kAtA), odd_a = g[1] * Set(kA * kAtA);
    u[1] = even_a + odd_a;
    u[2] = even_a - odd_a;
    const Vec even_b = Fma(Set(kBB), g[2], g[0]) * Set(kAtB), odd_b = g[1] * Set(kB * kAtB);
    u[3] = even_b + odd_b;
    u[4] = even_b - odd_b;
    u[5] = g[2];
  }
  static ONWARD_INLINE void Window(const Vec (&d)[6], Vec (&v)[6]) {
    const Vec product = Set(kAA * kBB), sum = Set(-(kAA + kBB));
    v[0] = Fma(product, d[0], Fma(sum, d[2], d[4]));
    v[5] = Fma(product, d[1], Fma(sum, d[3], d[5]));
    const Vec even_a = Fma(Set(-kBB), d[2], d[4]), odd_a = Fma(Set(-kBB), d[1], d[3]);
    v[1] = Fma(Set(kA), odd_a, even_a);
    v[2] = Fma(Set(-kA), odd_a, even_a);
    const Vec even_b = Fma(Set(-kAA), d[2], d[4]), odd_b = Fma(Set(-kAA), d[1], d[3]);
    v[3] = Fma(Set(kB), odd_b, even_b);
    v[4] = Fma(Set(-kB), odd_b, even_b);
  }
  static ONWARD_INLINE void Output(const Vec (&m)[6], Vec (&y)[4]) {
    const Vec even_a = m[1] + m[2], odd_a = m[1] - m[2];
    const Vec even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + (even_a + even_b);
    y[1] = Fma(Set(kA), odd_a, odd_b * Set(kB));
    y[2] = Fma(Set(kAA), even_a, even_b * Set(kBB));
    y[3] = Fma(Set(kAA * kA), odd_a, Fma(Set(kBB * kB), odd_b, m[5]));
  }
  static ONWARD_INLINE void Pixels(const Vec (&y)[4], Vec (&m)[6]) {
    m[0] = y[0];
    const Vec even_a = Fma(Set(kAA), y[2], y[0]);
    const Vec odd_a = Fma(Set(kAA * kA), y[3], y[1] * Set(kA));
    m[1] = even_a + odd_a;
    m[2] = even_a - odd_a;
    const Vec even_b = Fma(Set(kBB), y[2], y[0]);
    const Vec odd_b = Fma(Set(kBB * kB), y[3], y[1] * Set(kB));
    m[3] = even_b + odd_b;
    m[4] = even_b - odd_b;
    m[5] = y[3];
  }
  static ONWARD_INLINE void Taps(const Vec (&u)[6], Vec (&g)[3]) {
    const Vec even_a = (u[1] + u[2]) * Set(kAtA), even_b = (u[3] + u[4]) * Set(kAtB);
    g[0] = Fma(Set(kAtZero), u[0], even_a + even_b);
    g[1] = Fma(Set(kA * kAtA), u[1] - u[2], (u[3] - u[4]) * Set(kB * kAtB));
    g[2] = Fma(Set(kAA), even_a, Fma(Set(kBB), even_b, u[5]));
  }
};

}  // namespace onward::kernels::cpu::ONWARD_TARGET
