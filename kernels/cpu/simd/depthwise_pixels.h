// One output row of a depthwise convolution whose image lies as pixels of several channels.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/conv_tile.h"

namespace onward::kernels::cpu {

// Pixels of images, weights and sums are `pitch` floats, whole vectors, of which `channels` count;
// those up to the end of their vector may be read and written.
struct DepthwisePixels {
  const PatchWindow* window = nullptr;
  const float* const* rows = nullptr;  // [kernel_h]: the padded image rows that the outputs read
  int64_t pitch = 0;
  int channels = 0;
  const float* weights = nullptr;  // [taps][pitch]
  const float* bias = nullptr;     // [channels], or null
  float* sums = nullptr;           // [out_w][pitch]
};

struct DepthwisePixelsKernels {
  int lanes;
  void (*sum_row)(const DepthwisePixels& row);
};

ONWARD_PER_TARGET(kVectorLoops, const DepthwisePixelsKernels&, DepthwisePixelLoops, ())

}  // namespace onward::kernels::cpu
