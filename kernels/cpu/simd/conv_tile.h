// The loops of convolutions besides the tiles of matrix products: patches as operands, and
// results stored across channels.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

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

// An image's channel is copied with its padding, split by the remainder of row and column modulo
// the strides into stride_h x stride_w planes. Tap (ky, kx) of output (y, x) then reads its plane
// at TapOffset + y * PlaneWidth + x: neighbouring outputs read neighbouring floats.
inline int64_t PlaneWidth(const PatchWindow& w) {
  return w.out_w + (w.kernel_w - 1) * w.dilation_w / w.stride_w;
}
inline int64_t PlaneRows(const PatchWindow& w) {
  return w.out_h + (w.kernel_h - 1) * w.dilation_h / w.stride_h;
}
inline int64_t ChannelPlanes(const PatchWindow& w) {
  return w.stride_h * w.stride_w * PlaneRows(w) * PlaneWidth(w);
}
inline int64_t TapOffset(const PatchWindow& w, int64_t ky, int64_t kx) {
  const int64_t dy = ky * w.dilation_h, dx = kx * w.dilation_w;
  const int64_t plane = dy % w.stride_h * w.stride_w + dx % w.stride_w;
  return (plane * PlaneRows(w) + dy / w.stride_h) * PlaneWidth(w) + dx / w.stride_w;
}

struct PatchSource {
  const float* planes = nullptr;  // channel 0
  bool has_slack = false;         // kPatchSlack floats lie before and after; else out_w is all
  int64_t channel = 0;            // floats from one channel to the next
  const int64_t* tap_offsets = nullptr;  // [taps]
  int64_t taps = 1;
  int64_t out_w = 1;
  int64_t row = 1;  // floats from one output row to the next
  // Where pixels continue in the next image: output rows and floats of one; else 0.
  int64_t rows = 0;
  int64_t image = 0;
};
inline constexpr int64_t kPatchSlack = 16;

struct ConvTileKernels {
  // Fills one channel's planes; those that no tap reads are left as they are.
  void (*split_channel)(const PatchWindow& window, const float* x, float* planes);
  // packed[p * panel + (k - k_begin) * width + j] = the element that output pixel
  // `pixel + p * width + j` multiplies with weight k = channel * taps + tap, for k in
  // [k_begin, k_end) and the `count` pixels from `pixel`. width <= kMaxPatchWidth, at most
  // kMaxPatchPanels panels. Elements of further pixels are of no meaning.
  void (*pack_patches)(const PatchSource& source, int64_t pixel, int64_t count, int64_t k_begin,
                       int64_t k_end, int width, int64_t panel, float* packed);
  // y[c * y_row + r] = activation(tile[r * tile_row + c] + residual[c * y_row + r]) for r < rows,
  // c < cols; residual may be null.
  void (*store_transposed)(const float* tile, int64_t tile_row, int rows, int cols,
                           const float* residual, const ActivationSpec& activation, float* y,
                           int64_t y_row);
};
inline constexpr int kMaxPatchWidth = 32;
inline constexpr int kMaxPatchPanels = 8;

ONWARD_PER_TARGET(kVectorLoops, const ConvTileKernels&, ConvTiles, ())

}  // namespace onward::kernels::cpu
