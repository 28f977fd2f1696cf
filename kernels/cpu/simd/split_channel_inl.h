// Channels of images as the planes of conv_tile.h.
#pragma once

#include "kernels/cpu/simd/conv_tile.h"
#include "kernels/cpu/simd/copy_run_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

ONWARD_INLINE void FillZero(float* p, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(p + i, Vec{});
  if (i < count) StoreN(p + i, Vec{}, static_cast<int>(count - i));
}

// Row `iy` of the image at columns phase - pad, phase - pad + stride, ...
inline void CopyPaddedRow(const PatchWindow& w, const float* x, int64_t iy, int64_t phase,
                          int64_t width, float* to) {
  if (iy < 0 || iy >= w.in_h) return FillZero(to, width);
  const int64_t ix = phase - w.pad_left;
  int64_t first = CeilDivision(-ix, w.stride_w), last = CeilDivision(w.in_w - ix, w.stride_w);
  if (first > width) first = width;
  if (last > width) last = width;
  if (last < first) last = first;
  FillZero(to, first);
  CopyRun(x + iy * w.in_w + ix + first * w.stride_w, w.stride_w, last - first, to + first);
  FillZero(to + last, width - last);
}

inline void SplitChannel(const PatchWindow& w, const float* x, float* planes) {
  const int64_t width = PlaneWidth(w), rows = PlaneRows(w);
  for (int64_t ph = 0; ph < w.stride_h; ++ph) {
    if (!ReadsPhase(w.kernel_h, w.dilation_h, w.stride_h, ph)) continue;
    for (int64_t pw = 0; pw < w.stride_w; ++pw) {
      if (!ReadsPhase(w.kernel_w, w.dilation_w, w.stride_w, pw)) continue;
      float* plane = planes + (ph * w.stride_w + pw) * rows * width;
      for (int64_t r = 0; r < rows; ++r)
        CopyPaddedRow(w, x, r * w.stride_h + ph - w.pad_top, pw, width, plane + r * width);
    }
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
