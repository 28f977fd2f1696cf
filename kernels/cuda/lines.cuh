// Lines along one axis of a tensor, each the work of a warp, of a block or of the threads of a
// column.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/bind/softmax.h"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {

struct Line {
  int64_t number;  // of outer * inner; -1: the thread only takes part in what its block combines
  int64_t first;   // where its first element is
  int64_t count;   // its elements; 0 where the thread has no line
};

// Lines of neighbours: split.inner is 1.
template <bool kWide>
struct RowLines : RowThreads<kWide> {
  static constexpr bool kNeighbours = true;
  // Calls f(line) for the threads of a line at once.
  template <typename F>
  __device__ static void ForEach(const AxisSplit& split, F&& f) {
    using Threads = RowThreads<kWide>;
    for (int64_t row = Threads::first(); row < split.outer; row += Threads::step())
      f(Line{row, row * split.count, split.count});
  }
};

// Lines that lie side by side: a block takes neighbouring ones.
struct ColumnLines {
  static constexpr bool kNeighbours = false;
  __device__ static int count() { return kStripes; }
  __device__ static int index() { return static_cast<int>(threadIdx.y); }
  template <typename F, typename C>
  __device__ static C Combine(C value) {
    return CombineColumn<F>(value);
  }
  // Calls f(line) for all threads of a block at once.
  template <typename F>
  __device__ static void ForEach(const AxisSplit& split, F&& f) {
    const int64_t tiles = (split.inner + kColumns - 1) / kColumns;
    for (int64_t tile = blockIdx.x; tile < split.outer * tiles; tile += gridDim.x) {
      const int64_t outer = tile / tiles, column = (tile - outer * tiles) * kColumns + threadIdx.x;
      if (column < split.inner) {
        f(Line{outer * split.inner + column, outer * split.count * split.inner + column,
               split.count});
      } else {
        f(Line{-1, 0, 0});
      }
    }
  }
};

// Launches the kernel that fits the lines: one for RowLines<false>, RowLines<true> or ColumnLines.
// There is a line.
template <typename... Parameters, typename... Arguments>
absl::Status LaunchLines(void (*rows)(Parameters...), void (*wide_rows)(Parameters...),
                         void (*columns)(Parameters...), const AxisSplit& split,
                         cudaStream_t stream, Arguments&&... arguments) {
  if (split.inner > 1) {
    const int64_t tiles = split.outer * ((split.inner + kColumns - 1) / kColumns);
    return Launch(columns, Blocks(tiles * kThreads), dim3(kColumns, kStripes), 0, stream,
                  std::forward<Arguments>(arguments)...);
  }
  const bool wide = AreWide(split.outer, split.count);
  return Launch(wide ? wide_rows : rows, RowBlocks(split.outer, wide), kThreads, 0, stream,
                std::forward<Arguments>(arguments)...);
}

}  // namespace onward::kernels::cuda
