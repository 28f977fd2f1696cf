#pragma once

#include "kernels/cpu/simd/depthwise_pixels.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// kCount neighbouring outputs from column `x` of one vector of channels from `lane`. kTaps: of the
// window's rows and of its columns; 0 stands for any numbers.
template <int kTaps, int kCount>
ONWARD_INLINE void SumPixels(const DepthwisePixels& row, Vec start, int64_t x, int64_t lane) {
  const PatchWindow& w = *row.window;
  const int64_t step = w.stride_w * row.pitch, tap = w.dilation_w * row.pitch;
  const int64_t height = kTaps > 0 ? kTaps : w.kernel_h, width = kTaps > 0 ? kTaps : w.kernel_w;
  const float* weights = row.weights + lane;
  Vec sums[kCount];
  ONWARD_UNROLL
  for (int i = 0; i < kCount; ++i) sums[i] = start;
  for (int64_t ky = 0; ky < height; ++ky) {
    const float* from = row.rows[ky] + x * step + lane;
    for (int64_t kx = 0; kx < width; ++kx, from += tap, weights += row.pitch) {
      const Vec weight = Load(weights);
      ONWARD_UNROLL
      for (int i = 0; i < kCount; ++i) sums[i] = Fma(weight, Load(from + i * step), sums[i]);
    }
  }
  ONWARD_UNROLL
  for (int i = 0; i < kCount; ++i) Store(row.sums + (x + i) * row.pitch + lane, sums[i]);
}

template <int kTaps>
inline void SumPixelRow(const DepthwisePixels& row) {
  const int64_t width = row.window->out_w;
  for (int lane = 0; lane < row.channels; lane += kLanes) {
    const int n = row.channels - lane < kLanes ? row.channels - lane : kLanes;
    const Vec start = row.bias == nullptr ? Vec{} : LoadLanes(row.bias + lane, n);
    int64_t x = 0;
    for (; x + 8 <= width; x += 8) SumPixels<kTaps, 8>(row, start, x, lane);
    if (x + 4 <= width) {
      SumPixels<kTaps, 4>(row, start, x, lane);
      x += 4;
    }
    if (x + 2 <= width) {
      SumPixels<kTaps, 2>(row, start, x, lane);
      x += 2;
    }
    if (x < width) SumPixels<kTaps, 1>(row, start, x, lane);
  }
}

inline void SumDepthwiseRow(const DepthwisePixels& row) {
  const PatchWindow& w = *row.window;
  const int64_t taps = w.kernel_h == w.kernel_w ? w.kernel_h : 0;
  taps == 3 ? SumPixelRow<3>(row) : taps == 5 ? SumPixelRow<5>(row) : SumPixelRow<0>(row);
}

const DepthwisePixelsKernels& DepthwisePixelLoops() {
  static constexpr DepthwisePixelsKernels kKernels = {kLanes, SumDepthwiseRow};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
