// Which rows of a plane a row of windows reads.
#pragma once

#include "kernels/cpu/simd/copy_run_inl.h"
#include "kernels/cpu/simd/pool_rows.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// The taps [first, end) of a window that lie inside the axis.
struct TapRange {
  int64_t start, first, count;
};
ONWARD_INLINE TapRange TapsAt(const PoolAxis& axis, int64_t position) {
  const int64_t start = position * axis.stride - axis.pad;
  int64_t first = start < 0 ? -start : 0, end = axis.input - start;
  if (axis.dilation != 1) {
    first = CeilDivision(-start, axis.dilation);
    end = CeilDivision(axis.input - start, axis.dilation);
  }
  if (end > axis.kernel) end = axis.kernel;
  return {start + first * axis.dilation, first, end > first ? end - first : 0};
}

// The rows of the plane that a row of windows reads: at each of the bases, which the axes but the
// last two choose, `count` rows, `step` apart.
struct RowTaps {
  int64_t* bases;
  int64_t num_bases = 1;
  int64_t first = 0, step = 0, count = 1;
  float outer_divisor = 1.0f, divisor = 1.0f;  // of averages, without the columns
};

// Sets what all rows of windows have in common whose number is `outer` without the last two axes.
inline void SetBases(const PoolRows& p, int64_t outer, RowTaps& taps) {
  const int axes = p.num_axes - 2;
  int64_t positions[kMostPoolAxes];
  for (int a = axes - 1; a >= 0; --a) {
    positions[a] = outer % p.axes[a].output;
    outer /= p.axes[a].output;
  }
  taps.bases[0] = 0;
  taps.num_bases = 1;
  taps.outer_divisor = 1.0f;
  for (int a = 0; a < axes; ++a) {
    const PoolAxis& axis = p.axes[a];
    const TapRange range = TapsAt(axis, positions[a]);
    // From the last one on: the places that are written hold nothing that is still read.
    for (int64_t i = taps.num_bases - 1; i >= 0; --i) {
      const int64_t from = taps.bases[i] * axis.input + range.start;
      for (int64_t k = range.count - 1; k >= 0; --k)
        taps.bases[i * range.count + k] = from + k * axis.dilation;
    }
    taps.num_bases *= range.count;
    if (axis.counts != nullptr) taps.outer_divisor *= axis.counts[positions[a]];
  }
  const int64_t size = axes < 0 ? 0 : p.axes[axes].input * p.axes[axes + 1].input;
  for (int64_t i = 0; i < taps.num_bases; ++i) taps.bases[i] *= size;
}

ONWARD_INLINE void SetRow(const PoolRows& p, int64_t begin, int64_t row, RowTaps& taps) {
  if (p.num_axes == 1) {
    if (row == begin) SetBases(p, 0, taps);
    return;
  }
  const PoolAxis& rows = p.axes[p.num_axes - 2];
  int64_t position = row;
  if (p.num_axes > 2) {
    position = row % rows.output;
    if (row == begin || position == 0) SetBases(p, row / rows.output, taps);
  } else if (row == begin) {
    SetBases(p, 0, taps);
  }
  const TapRange range = TapsAt(rows, position);
  const int64_t width = p.axes[p.num_axes - 1].input;
  taps.first = range.start * width;
  taps.step = rows.dilation * width;
  taps.count = range.count;
  taps.divisor = rows.counts == nullptr ? 1.0f : taps.outer_divisor * rows.counts[position];
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
