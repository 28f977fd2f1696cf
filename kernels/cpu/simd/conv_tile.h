// What convolutions need besides the tiles of matrix products: patches of images as operands, and
// results stored across channels.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/activation.h"
#include "kernels/cpu/simd/cpu_features.h"

namespace onward::cpu {

// The windows of a 2-D convolution over one image (1-D: height 1).
struct PatchWindow {
  int64_t in_h = 1, in_w = 1;
  int64_t out_h = 1, out_w = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;

  int64_t taps() const { return kernel_h * kernel_w; }
};

struct ConvTileKernels {
  // packed[(k - k_begin) * width + j] = the element that output pixel `pixel + j` multiplies with
  // weight k = (channel * kernel_h + ky) * kernel_w + kx, for k in [k_begin, k_end), j < count; 0
  // for count <= j < width and where the window leaves the image. `x` is channel 0 of the image.
  // count <= width <= kMaxPatchWidth.
  void (*pack_patches)(const PatchWindow& window, const float* x, int64_t pixel, int count,
                       int64_t k_begin, int64_t k_end, int width, float* packed);
  // y[c * y_row + r] = activation(tile[r * tile_row + c] + residual[c * y_row + r]) for r < rows,
  // c < cols; residual may be null.
  void (*store_transposed)(const float* tile, int64_t tile_row, int rows, int cols,
                           const float* residual, const ActivationSpec& activation, float* y,
                           int64_t y_row);
};
inline constexpr int kMaxPatchWidth = 32;

namespace baseline {
const ConvTileKernels& ConvKernels();
}
namespace avx2 {
const ConvTileKernels& ConvKernels();
}
namespace avx512 {
const ConvTileKernels& ConvKernels();
}

const ConvTileKernels& ConvTiles(InstructionSet set);

}  // namespace onward::cpu
