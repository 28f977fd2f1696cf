// Rows of one filter of a depthwise convolution, where they are wide enough to fill vectors: lanes
// are neighbouring outputs. Sums are added in the order of depthwise_tile.h, bit for bit.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/simd/conv_tile.h"

namespace onward::kernels::cpu {

struct DepthwiseRowsBand {
  PatchWindow window;                    // of the band, without strides; row 0 is its first
  int64_t rows = 0;                      // of outputs, <= window.out_h
  const float* x = nullptr;              // the channel
  const float* w = nullptr;              // [taps]
  const int64_t* tap_offsets = nullptr;  // [taps], of TapOffset()
  float bias = 0;
  const float* residual = nullptr;  // like y, or null
  ActivationSpec activation;
  float* y = nullptr;  // of the band's first row
};

struct DepthwiseRowsKernels {
  int lanes;
  // `scratch`: DepthwiseRowsScratch(window) floats.
  void (*run)(const DepthwiseRowsBand& band, float* scratch);
};

// The channel's planes; the last vector reads beyond them.
inline int64_t DepthwiseRowsScratch(const PatchWindow& window) {
  return ChannelPlanes(window) + kPatchSlack;
}

ONWARD_PER_TARGET(kVectorLoops, const DepthwiseRowsKernels&, DepthwiseRows, ())

}  // namespace onward::kernels::cpu
