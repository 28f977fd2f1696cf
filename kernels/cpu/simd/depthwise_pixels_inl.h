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

// The same in the same order, where the windows of neighbours are a pixel apart: a pixel is read
// once for all taps of a row.
template <int kTaps, int kCount>
ONWARD_INLINE void SumDensePixels(const DepthwisePixels& row, Vec start, int64_t x, int64_t lane) {
  const float* weights = row.weights + lane;
  Vec sums[kCount];
  ONWARD_UNROLL
  for (int i = 0; i < kCount; ++i) sums[i] = start;
  for (int ky = 0; ky < kTaps; ++ky) {
    const float* from = row.rows[ky] + x * row.pitch + lane;
    Vec taps[kTaps];
    ONWARD_UNROLL
    for (int t = 0; t < kTaps; ++t, weights += row.pitch) taps[t] = Load(weights);
    ONWARD_UNROLL
    for (int i = 0; i < kCount + kTaps - 1; ++i) {
      const Vec pixel = Load(from + i * row.pitch);
      ONWARD_UNROLL
      for (int t = 0; t < kTaps; ++t)
        if (i >= t && i - t < kCount) sums[i - t] = Fma(taps[t], pixel, sums[i - t]);
    }
  }
  ONWARD_UNROLL
  for (int i = 0; i < kCount; ++i) Store(row.sums + (x + i) * row.pitch + lane, sums[i]);
}

template <int kTaps, bool kDense, int kCount>
ONWARD_INLINE void SumSome(const DepthwisePixels& row, Vec start, int64_t& x, int64_t lane) {
  if constexpr (kDense) {
    SumDensePixels<kTaps, kCount>(row, start, x, lane);
  } else {
    SumPixels<kTaps, kCount>(row, start, x, lane);
  }
  x += kCount;
}

template <int kTaps, bool kDense>
inline void SumPixelRow(const DepthwisePixels& row) {
  const int64_t width = row.window->out_w;
  for (int lane = 0; lane < row.channels; lane += kLanes) {
    const int n = row.channels - lane < kLanes ? row.channels - lane : kLanes;
    const Vec start = row.bias == nullptr ? Vec{} : LoadLanes(row.bias + lane, n);
    int64_t x = 0;
    while (width % 7 == 0 && x < width) SumSome<kTaps, kDense, 7>(row, start, x, lane);
    while (x + 8 <= width) SumSome<kTaps, kDense, 8>(row, start, x, lane);
    if (x + 4 <= width) SumSome<kTaps, kDense, 4>(row, start, x, lane);
    if (x + 2 <= width) SumSome<kTaps, kDense, 2>(row, start, x, lane);
    if (x < width) SumSome<kTaps, kDense, 1>(row, start, x, lane);
  }
}

inline void SumDepthwiseRow(const DepthwisePixels& row) {
  const PatchWindow& w = *row.window;
  const int64_t taps = w.kernel_h == w.kernel_w ? w.kernel_h : 0;
  const bool is_dense = w.stride_w == 1 && w.dilation_w == 1;
  if (taps == 3) return is_dense ? SumPixelRow<3, true>(row) : SumPixelRow<3, false>(row);
  if (taps == 5) return is_dense ? SumPixelRow<5, true>(row) : SumPixelRow<5, false>(row);
  SumPixelRow<0, false>(row);
}

const DepthwisePixelsKernels& DepthwisePixelLoops() {
  static constexpr DepthwisePixelsKernels kKernels = {kLanes, SumDepthwiseRow};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
