// How elementwise loops are laid over a grid.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/status.h"

namespace onward::cuda {

inline constexpr int kThreads = 256;

// Enough blocks to fill a large device; the loops stride over the grid.
inline unsigned Blocks(int64_t count) {
  return static_cast<unsigned>(std::min<int64_t>((count + kThreads - 1) / kThreads, 8192));
}

__device__ inline int64_t GlobalIndex() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t GlobalSize() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace onward::cuda
