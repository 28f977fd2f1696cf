// Images as bfloat16 for convolutions that multiply pairs of it (gemm_tile.h).
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/conv_tile.h"

namespace onward::kernels::cpu {

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
  // As pack_patches for a source of one tap: words of channels [begin, end), two to a step. Further
  // pixels are zero; nothing beyond the pixels is read.
  void (*pack_points)(const PatchSource& source, int64_t pixel, int64_t count, int64_t begin,
                      int64_t end, int width, int64_t panel, float* packed);
  // Words of one filter, to[pair * count + i]: tap index[i] of each pair of channels, which have
  // `taps` taps and lie `channel` floats apart.
  void (*pack_filter)(const float* w, int64_t channel, int64_t channels, int64_t taps,
                      const int32_t* index, int64_t count, float* to);
};

ONWARD_PER_TARGET(kBf16Loops, const ConvPairsKernels&, ConvPairs, ())

}  // namespace onward::kernels::cpu
