// Pooling of float32 planes with any number of axes, by rows of windows, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// Output o reads the inputs o * stride + k * dilation - pad, k < kernel, that there are.
struct PoolAxis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1;
  int64_t pad = 0;                // at the begin
  const float* counts = nullptr;  // of averages, per output: their products are divided by
};

inline constexpr int kMostPoolAxes = 8;
inline constexpr int kMostBlockRows = 8;

// A plane and its windows. The windows of a row differ in the last axis alone.
struct PoolRows {
  const float* x = nullptr;
  float* y = nullptr;
  // Where the loop of maxima with indices writes first_index plus the place of a window's first NaN
  // or, without one, of its first greatest element.
  int64_t* indices = nullptr;
  int64_t first_index = 0;
  const PoolAxis* axes = nullptr;
  int num_axes = 0;  // 1 .. kMostPoolAxes
  // By PlanPoolRows.
  int64_t bases = 0;         // taps of a window along the axes but the last two
  int64_t phase_length = 0;  // of every stride-th column of a padded row
  // Rows are stored some time before their columns are read across the borders of vectors.
  int64_t block_rows = 0;
};

// Plans the windows and returns how many floats of scratch a worker needs.
int64_t PlanPoolRows(PoolRows& rows);

// Computes the rows [begin, end) of the plane's windows.
using PoolLoop = void (*)(const PoolRows& rows, int64_t begin, int64_t end, float* scratch);

struct PoolRowLoops {
  PoolLoop max;      // NaN if any is
  PoolLoop average;  // sums by counts
  PoolLoop norm1;    // sums of magnitudes
  PoolLoop norm2;    // roots of sums of squares
  PoolLoop max_with_indices;
};

ONWARD_PER_TARGET(kVectorLoops, const PoolRowLoops&, RowPools, ())

}  // namespace onward::kernels::cpu
