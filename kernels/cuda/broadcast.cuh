// Finds the elements that a thread computes with in the operands of a broadcasting loop.
#pragma once

#include <cstdint>

#include "kernels/broadcast.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {

// Neither is negative. The device has no instruction that divides; 64 bits take it four times as
// many as 32.
__device__ inline int64_t Quotient(int64_t n, int64_t by) {
  if (((n | by) >> 32) != 0) return n / by;
  return static_cast<int64_t>(static_cast<uint32_t>(n) / static_cast<uint32_t>(by));
}

// Sets at[n] to the offset of operand n for element `index` of the output.
template <int N>
__device__ inline void FindOperands(const BroadcastLoop<N>& loop, int64_t index, int64_t (&at)[N]) {
  for (int n = 0; n < N; ++n) at[n] = 0;
#pragma unroll 1
  for (int d = 0; d < loop.rank; ++d) {
    // The outermost index is what is left.
    const int64_t rest = d + 1 < loop.rank ? Quotient(index, loop.dims[d]) : 0;
    const int64_t place = index - rest * loop.dims[d];
    for (int n = 0; n < N; ++n) at[n] += place * loop.strides[n][d];
    index = rest;
  }
}

// Makes each step of the innermost loop one of `pack` elements; strides still count elements. False
// where a pack would end within a loop, or begin elsewhere than at a multiple of its elements.
template <int N>
bool InPacks(int64_t pack, BroadcastLoop<N>& loop) {
  if (loop.dims[0] % pack != 0) return false;
  for (int n = 0; n < N; ++n) {
    for (int d = 1; d < loop.rank && loop.strides[n][0] != 0; ++d)
      if (loop.strides[n][d] % pack != 0) return false;
    loop.strides[n][0] *= pack;
  }
  loop.dims[0] /= pack;
  return true;
}

}  // namespace onward::kernels::cuda
