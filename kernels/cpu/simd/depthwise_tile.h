// A band of rows of a depthwise convolution, for as many filters as a vector has lanes.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/activation.h"
#include "kernels/cpu/simd/conv_tile.h"

namespace onward::cpu {

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

struct DepthwiseKernels {
  int lanes;
  // `scratch`: DepthwiseScratch(window, lanes, row_end - row_begin) floats, aligned to a vector.
  void (*run)(const DepthwiseBand& band, float* scratch);
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

namespace baseline {
const DepthwiseKernels& Depthwise();
}
namespace avx2 {
const DepthwiseKernels& Depthwise();
}
namespace avx512 {
const DepthwiseKernels& Depthwise();
}

const DepthwiseKernels& DepthwiseTiles(InstructionSet set);

}  // namespace onward::cpu
