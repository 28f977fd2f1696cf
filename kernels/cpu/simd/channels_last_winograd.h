// Winograd's transforms (winograd.h) of output tiles of 4 x 4 pixels, for images with their
// channels last, of bfloat16 in targets that multiply pairs of them and of float32 in the others:
// vectors hold channels. Products are float32.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/simd/winograd.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// The window of one tile.
struct LastWindow {
  const void* pixels[kMaxWinogradFrequencies] = {};  // row by row, each with all channels
  int64_t channels = 0;
  float* v = nullptr;  // frequency f of channel c goes to v[f * step + c]
  int64_t step = 0;
};

// The products of some filters with one tile, and where its pixels go.
struct LastTile {
  const float* products = nullptr;  // of frequency f and filter i at products[f * step + i]
  int64_t step = 0;
  int filters = 0;
  int rows = 0, columns = 0;    // of the tile, within the image
  const float* bias = nullptr;  // of the first filter; null: zeros
  ActivationSpec activation;
  const void* residual = nullptr;  // as y; null: zeros
  void* y = nullptr;               // the tile's first pixel, the first filter
  int64_t y_row = 0, y_pixel = 0;  // elements from one row, one pixel to the next
};

struct LastWinogradKernels {
  void (*transform_window)(const LastWindow& window);
  void (*store_tile)(const LastTile& tile);
};

ONWARD_PER_TARGET(kVectorLoops | kBf16Loops, const LastWinogradKernels&, LastWinograd, ())

}  // namespace onward::kernels::cpu
