// Launching kernels, and how elementwise loops are laid over a grid.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {

// An error is the launch's own, not one that an earlier call left in the thread.
template <typename... Parameters, typename... Arguments>
absl::Status Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                    cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return ToStatus(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

inline constexpr int kThreads = 256;

// Enough blocks to fill a large device; the loops stride over the grid.
inline unsigned Blocks(int64_t count) {
  return static_cast<unsigned>(std::min<int64_t>((count + kThreads - 1) / kThreads, 8192));
}

__device__ inline int64_t GlobalIndex() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t GlobalSize() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace onward::kernels::cuda
