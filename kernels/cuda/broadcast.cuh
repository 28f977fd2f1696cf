// Finds the elements that a thread computes with in the operands of a broadcasting loop.
#pragma once

#include <cstdint>

#include "kernels/broadcast.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {

// Sets at[n] to the offset of operand n for element `index` of the output.
template <int N>
__device__ inline void FindOperands(const BroadcastLoop<N>& loop, int64_t index, int64_t (&at)[N]) {
  for (int n = 0; n < N; ++n) at[n] = 0;
  for (int d = 0; d < loop.rank; ++d) {
    // The outermost index is what is left.
    const int64_t rest = d + 1 < loop.rank ? index / loop.dims[d] : 0;
    const int64_t place = index - rest * loop.dims[d];
    for (int n = 0; n < N; ++n) at[n] += place * loop.strides[n][d];
    index = rest;
  }
}

}  // namespace onward::kernels::cuda
