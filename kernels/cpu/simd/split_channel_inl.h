// Channels of images as the planes of conv_tile.h. Rows are filled one after another, so that a
// vector may be stored beyond its row, up to the end of the plane.
#pragma once

#include "kernels/cpu/simd/conv_tile.h"
#include "kernels/cpu/simd/copy_run_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

ONWARD_INLINE void FillZero(float* p, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(p + i, Vec{});
  if (i < count) StoreN(p + i, Vec{}, static_cast<int>(count - i));
}

// Stores the first n lanes, or all of them where those lie before `end`.
ONWARD_INLINE void StoreBefore(const float* end, float* p, Vec v, int64_t n) {
  if (n >= kLanes || p + kLanes <= end) {
    Store(p, v);
  } else {
    StoreN(p, v, static_cast<int>(n));
  }
}

// Columns of an image row in a row of a plane: `count` of them from `column` on, `first` floats
// behind the row's begin; the others are padding.
struct ColumnsOfPlane {
  int64_t column = 0, first = 0, count = 0;
};

// Those at phase - pad, phase - pad + stride, ...
inline ColumnsOfPlane ColumnsOfPhase(const PatchWindow& w, int64_t phase, int64_t width) {
  const int64_t at = phase - w.pad_left;
  int64_t first = CeilDivision(-at, w.stride_w), last = CeilDivision(w.in_w - at, w.stride_w);
  if (first > width) first = width;
  if (last > width) last = width;
  if (last < first) last = first;
  return {at + first * w.stride_w, first, last - first};
}

ONWARD_INLINE void FillPadding(const ColumnsOfPlane& columns, const float* end, float* row) {
  for (int64_t i = 0; i < columns.first; i += kLanes)
    StoreBefore(end, row + i, Vec{}, columns.first - i);
}
ONWARD_INLINE void FillRest(const ColumnsOfPlane& columns, int64_t width, const float* end,
                            float* row) {
  for (int64_t i = columns.first + columns.count; i < width; i += kLanes)
    StoreBefore(end, row + i, Vec{}, width - i);
}

inline void CopyColumns(const float* from, int64_t stride, int64_t count, const float* end,
                        float* to) {
  if (stride != 1) return CopyRun(from, stride, count, to);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(from + i));
  const int left = static_cast<int>(count - i);
  if (left > 0) StoreBefore(end, to + i, LoadN(from + i, left), left);
}

// The rows of one plane: row r is row r * stride_h + top of the image.
inline void FillPlane(const PatchWindow& w, const ColumnsOfPlane& columns, const float* x,
                      int64_t top, float* plane) {
  const int64_t width = PlaneWidth(w), rows = PlaneRows(w);
  const float* end = plane + rows * width;
  for (int64_t r = 0; r < rows; ++r, plane += width) {
    const int64_t y = r * w.stride_h + top;
    if (y < 0 || y >= w.in_h) {
      FillRest({}, width, end, plane);
      continue;
    }
    FillPadding(columns, end, plane);
    CopyColumns(x + y * w.in_w + columns.column, w.stride_w, columns.count, end,
                plane + columns.first);
    FillRest(columns, width, end, plane);
  }
}

// Lanes 2 i of n floats at `from` to one row and 2 i + 1 to another.
inline void Deinterleave(const float* from, int64_t n, const ColumnsOfPlane& even,
                         const float* even_end, float* to_even, const ColumnsOfPlane& odd,
                         const float* odd_end, float* to_odd) {
  const auto all = std::make_integer_sequence<int, kLanes>();
  for (int64_t i = 0; i < even.count; i += kLanes) {
    const int64_t left = n - 2 * i;
    const int low_lanes = left < kLanes ? static_cast<int>(left) : kLanes;
    const int64_t rest = left - low_lanes;
    const int high_lanes = rest < kLanes ? static_cast<int>(rest) : kLanes;
    const Vec low = LoadLanes(from + 2 * i, low_lanes);
    const Vec high = high_lanes == 0 ? Vec{} : LoadLanes(from + 2 * i + kLanes, high_lanes);
    StoreBefore(even_end, to_even + i, EvenLanes(low, high, all), even.count - i);
    if (odd.count > i) StoreBefore(odd_end, to_odd + i, OddLanes(low, high, all), odd.count - i);
  }
}

// Both planes of the columns of every second row, or of every row: each vector of the image is read
// once.
inline void FillTwoPlanes(const PatchWindow& w, const float* x, int64_t top, float* planes) {
  const int64_t width = PlaneWidth(w), rows = PlaneRows(w), size = rows * width;
  const int64_t phase = w.pad_left % 2;  // of column 0
  ColumnsOfPlane even = ColumnsOfPhase(w, phase, width), odd = ColumnsOfPhase(w, 1 - phase, width);
  float *to_even = planes + phase * size, *to_odd = planes + (1 - phase) * size;
  const float *even_end = to_even + size, *odd_end = to_odd + size;
  for (int64_t r = 0; r < rows; ++r, to_even += width, to_odd += width) {
    const int64_t y = r * w.stride_h + top;
    if (y < 0 || y >= w.in_h) {
      FillRest({}, width, even_end, to_even);
      FillRest({}, width, odd_end, to_odd);
      continue;
    }
    FillPadding(even, even_end, to_even);
    FillPadding(odd, odd_end, to_odd);
    Deinterleave(x + y * w.in_w, w.in_w, even, even_end, to_even + even.first, odd, odd_end,
                 to_odd + odd.first);
    FillRest(even, width, even_end, to_even);
    FillRest(odd, width, odd_end, to_odd);
  }
}

inline void SplitChannel(const PatchWindow& w, const float* x, float* planes) {
  const int64_t width = PlaneWidth(w), size = PlaneRows(w) * width;
  const bool pairs = w.stride_w == 2 && w.pad_left >= 0 &&
                     ReadsPhase(w.kernel_w, w.dilation_w, 2, 0) &&
                     ReadsPhase(w.kernel_w, w.dilation_w, 2, 1);
  for (int64_t ph = 0; ph < w.stride_h; ++ph) {
    if (!ReadsPhase(w.kernel_h, w.dilation_h, w.stride_h, ph)) continue;
    float* first = planes + ph * w.stride_w * size;
    if (pairs) {
      FillTwoPlanes(w, x, ph - w.pad_top, first);
      continue;
    }
    for (int64_t pw = 0; pw < w.stride_w; ++pw) {
      if (!ReadsPhase(w.kernel_w, w.dilation_w, w.stride_w, pw)) continue;
      FillPlane(w, ColumnsOfPhase(w, pw, width), x, ph - w.pad_top, first + pw * size);
    }
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
