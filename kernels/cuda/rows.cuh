// Rows of contiguous elements, each the work of one warp or of one block: sums and maxima of what
// the threads hold. The order of the sums is fixed by the number of threads.
#pragma once

#include <cstdint>

#include "kernels/binary_functors.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {

inline constexpr int kWarp = 32;

// Returns whether rows are the work of blocks rather than of warps, which read rows of up to 1024
// elements again out of the nearest cache. Few rows leave most of the device idle, and the time is
// that of the longest chain of loads.
inline bool AreWide(int64_t rows, int64_t columns) {
  return columns > 1024 || (columns > 4 * kWarp && rows <= 1024);
}

// Combines one value of each lane; all lanes get the result.
template <typename F, typename C>
__device__ C CombineWarp(C value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    value = F()(value, __shfl_xor_sync(~0u, value, lanes));
  return value;
}

// The same over the threads of a block of kThreads.
template <typename F, typename C>
__device__ C CombineBlock(C value) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ C of_warp[kWarps];
  value = CombineWarp<F>(value);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = of_warp[0];
  for (int i = 1; i < kWarps; ++i) value = F()(value, of_warp[i]);
  __syncthreads();  // before the next call writes
  return value;
}

// The number of threads before this one in the block whose flag is set, and of all.
struct Ranked {
  int64_t before, all;
};

__device__ inline Ranked RankInBlock(bool flag) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ int of_warp[kWarps];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const unsigned flags = __ballot_sync(~0u, flag);
  if (lane == 0) of_warp[warp] = __popc(flags);
  __syncthreads();
  Ranked ranked = {__popc(flags & ((1u << lane) - 1)), 0};
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < warp) ranked.before += of_warp[w];
    ranked.all += of_warp[w];
  }
  __syncthreads();  // before the next call writes
  return ranked;
}

// The threads that share a row; kWide: all of a block, else a warp.
template <bool kWide>
struct RowThreads {
  __device__ static int count() { return kWide ? kThreads : kWarp; }
  __device__ static int index() { return static_cast<int>(threadIdx.x) % count(); }
  // Rows from first() on, in steps of step(); the same for all threads of a row.
  __device__ static int64_t first() {
    return (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / count();
  }
  __device__ static int64_t step() {
    return static_cast<int64_t>(gridDim.x) * blockDim.x / count();
  }
  template <typename F, typename C>
  __device__ static C Combine(C value) {
    if constexpr (kWide) {
      return CombineBlock<F>(value);
    } else {
      return CombineWarp<F>(value);
    }
  }
};

// Threads of a block over neighbouring columns and down the axis.
inline constexpr int kColumns = 32, kStripes = 8;
static_assert(kColumns * kStripes == kThreads);

// Combines the values of a column's threads.
template <typename F, typename C>
__device__ C CombineColumn(C value) {
  __shared__ C of_stripe[kStripes][kColumns];
  of_stripe[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  value = of_stripe[0][threadIdx.x];
  for (int i = 1; i < kStripes; ++i) value = F()(value, of_stripe[i][threadIdx.x]);
  __syncthreads();
  return value;
}

// Blocks of kThreads for that many rows.
inline unsigned RowBlocks(int64_t rows, bool wide) {
  return Blocks(wide ? rows * kThreads : rows * kWarp);
}

}  // namespace onward::kernels::cuda
