// The inner kernel of direct convolutions: some pixels of one output row, for the filters of one
// panel. The image's pixels are read where they lie, one at a time.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

struct ConvRow {
  int pixels = 0;   // 1 .. tile_rows of GemmTileKernels
  int filters = 0;  // 1 .. tile_cols
  // A run is what one row of taps reads: that of pixel p at runs[run * run_floats + p * stride].
  const float* runs = nullptr;
  int64_t run_floats = 0;
  int64_t num_runs = 0;
  int64_t taps = 0;             // of one run
  int stride = 1;               // 1 or 2
  const float* w = nullptr;     // [num_runs * taps][tile_cols]
  const float* bias = nullptr;  // [filters], or null
  float* sums = nullptr;        // [pixels][tile_cols]
};

using ConvRowFunction = void (*)(const ConvRow& row);

ONWARD_PER_TARGET(kVectorLoops, ConvRowFunction, ConvRowProducts, ())

}  // namespace onward::kernels::cpu
