// Arithmetic of indices on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace onward::kernels::cuda {

// Quotients by a divisor that a launch knows, for numbers below 2^31, by a product: Granlund and
// Montgomery, "Division by Invariant Integers using Multiplication" (1994), figure 4.1.
struct Divisor {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  Divisor() = default;
  explicit Divisor(uint32_t by) : divisor(by) {
    while (shift < 31 && (uint32_t{1} << shift) < by) ++shift;
    multiplier =
        static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift) - by) / by + 1);
  }
  __device__ uint32_t Quotient(uint32_t n) const {
    const auto high = static_cast<uint32_t>(static_cast<uint64_t>(n) * multiplier >> 32);
    return (high + n) >> shift;
  }
};

// The same for numbers of any size, by dividing.
struct WideDivisor {
  int64_t divisor = 1;

  WideDivisor() = default;
  explicit WideDivisor(int64_t by) : divisor(by) {}
  __device__ int64_t Quotient(int64_t n) const { return n / divisor; }
};

}  // namespace onward::kernels::cuda
