// Images as bfloat16 for convolutions that multiply pairs of it (gemm_tile.h).
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/conv_tile.h"

namespace onward::cpu {

struct ConvPairsKernels {
  // Fills one channel's planes, which lie as those of conv_tile.h do.
  void (*split_channel)(const PatchWindow& window, const float* x, uint16_t* planes);
  // The same of two channels: words of an element of each, that of `x` in the lower half. `other`
  // may be null: zeros.
  void (*split_two_channels)(const PatchWindow& window, const float* x, const float* other,
                             float* planes);
  // Copies `rows` rows of `width` elements that lie `from_row` apart to one after another, and adds
  // a zero where their count is odd.
  void (*copy_rows)(const uint16_t* from, int64_t from_row, int64_t rows, int64_t width,
                    uint16_t* to);
};

namespace avx512bf16 {
const ConvPairsKernels& ConvPairs();
}

// Null where the processor has no such instructions.
const ConvPairsKernels* BFloat16Conv();

}  // namespace onward::cpu
