// A band of rows of a depthwise convolution, for as many filters as a vector has lanes.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/simd/conv_tile.h"

namespace onward::kernels::cpu {

// The rows of the image that the band reads are copied with their padding so that the channels of
// one pixel form a vector; the sums are turned back when they are stored.
struct DepthwiseBand {
  PatchWindow window;
  const float* x = nullptr;  // channel 0 of the image
  int64_t filter = 0;        // the first of `filters` <= lanes
  int filters = 0;
  int64_t filters_per_channel = 1;
  const float* w = nullptr;         // [all filters][taps]
  const float* bias = nullptr;      // [all filters], or null
  const float* residual = nullptr;  // like y, or null
  ActivationSpec activation;
  int64_t row_begin = 0;  // output rows
  int64_t row_end = 0;
  float* y = nullptr;  // filter 0 of the image
};

// The gradients of the convolution of `window` with respect to its image and its weights, for a
// filter per channel. Pointers are to channel 0 of one image; scratch is aligned to a vector.
struct DepthwiseGradientBand {
  PatchWindow window;
  int64_t filter = 0;  // the first of `filters` <= lanes
  int filters = 0;
  const float* dy = nullptr;  // [channels][out_h][out_w]
  int64_t row_begin = 0;      // of the image for `spread`, of dY for `sum_products`
  int64_t row_end = 0;
  // spread: dX = bias + what each dY adds through the weights.
  const float* w = nullptr;     // [channels][taps]
  const float* bias = nullptr;  // [channels], or null
  float* dx = nullptr;          // [channels][in_h][in_w]
  // sum_products: totals[tap][lane] += the sum of dY times what the tap reads.
  const float* x = nullptr;  // [channels][in_h][in_w]
  double* totals = nullptr;
};

struct DepthwiseKernels {
  int lanes;
  // `scratch`: DepthwiseScratch(window, lanes, row_end - row_begin) floats, aligned to a vector.
  void (*run)(const DepthwiseBand& band, float* scratch);
  // `scratch`: SpreadScratch(...) and ProductsScratch(...) floats.
  void (*spread)(const DepthwiseGradientBand& band, float* scratch);
  void (*sum_products)(const DepthwiseGradientBand& band, float* scratch);
};

inline int64_t PaddedWidth(const PatchWindow& w) {
  return (w.out_w - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1;
}
inline int64_t PaddedRows(const PatchWindow& w, int64_t rows) {
  return (rows - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1;
}
// Weights, image rows, sums.
inline int64_t DepthwiseScratch(const PatchWindow& w, int64_t lanes, int64_t rows) {
  return lanes * (w.taps() + PaddedRows(w, rows) * PaddedWidth(w) + rows * w.out_w);
}

// Rows of dY that reach `rows` rows of the image, at most.
inline int64_t SpreadRows(const PatchWindow& w, int64_t rows) {
  return (rows - 1 + (w.kernel_h - 1) * w.dilation_h) / w.stride_h + 1;
}
// The window of the convolution that spreads dY, with the weights in opposite order; strides are 1.
inline PatchWindow SpreadWindow(const PatchWindow& w) {
  PatchWindow spread = w;
  spread.in_h = w.out_h, spread.in_w = w.out_w, spread.out_h = w.in_h, spread.out_w = w.in_w;
  spread.pad_top = (w.kernel_h - 1) * w.dilation_h - w.pad_top;
  spread.pad_left = (w.kernel_w - 1) * w.dilation_w - w.pad_left;
  return spread;
}
// Weights, rows of dY, sums.
inline int64_t SpreadScratch(const PatchWindow& w, int64_t lanes, int64_t rows) {
  if (w.stride_h == 1 && w.stride_w == 1) return DepthwiseScratch(SpreadWindow(w), lanes, rows);
  return lanes * (w.taps() + SpreadRows(w, rows) * w.out_w + rows * w.in_w);
}
// Image rows, rows of dY.
inline int64_t ProductsScratch(const PatchWindow& w, int64_t lanes, int64_t rows) {
  return lanes * (PaddedRows(w, rows) * PaddedWidth(w) + rows * w.out_w);
}

ONWARD_PER_TARGET(kVectorLoops, const DepthwiseKernels&, Depthwise, ())

}  // namespace onward::kernels::cpu
