// References in double for the tests of recurrent kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "onward/tensor.h"

namespace onward::kernels {

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// To the nearest number that bfloat16 has, ties to even.
inline double Rounded(double value) {
  const float narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
  float rounded;
  std::memcpy(&rounded, &bits, 4);
  return static_cast<double>(rounded);
}

inline double At(const Tensor& t, int64_t i) { return static_cast<double>(t.data<float>()[i]); }

}  // namespace onward::kernels
