// The inner kernel of direct convolutions: some pixels of one output row, for the filters of one
// panel. The image's pixels are read where they lie, one at a time.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// The pixels whose sums the registers hold, for GemmTileKernels' tile_rows.
constexpr int MaxRowPixels(int tile_rows, bool one_vector) {
  return one_vector ? tile_rows * 4 / 3 : tile_rows;
}

struct ConvRow {
  int pixels = 0;   // 1 .. MaxRowPixels
  int filters = 0;  // 1 .. tile_cols, which are two vectors
  // Tap (ky, kx) of pixel p of a channel:
  // x[channel * channel_floats + ky * row_floats + p * stride + kx].
  const float* x = nullptr;
  int64_t channels = 0, channel_floats = 0;
  int64_t kernel_h = 0, row_floats = 0;
  int64_t kernel_w = 0;
  int stride = 1;               // 1 or 2
  const float* w = nullptr;     // [channels][kernel_h][kernel_w][tile_cols]
  const float* bias = nullptr;  // [filters], or null
  float* sums = nullptr;        // [pixels][tile_cols]
};

using ConvRowFunction = void (*)(const ConvRow& row);

ONWARD_PER_TARGET(kVectorLoops, ConvRowFunction, ConvRowProducts, ())

}  // namespace onward::kernels::cpu
