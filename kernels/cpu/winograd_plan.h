// The cut of a convolution of 3x3 taps into Winograd's tiles (simd/winograd.h) and into work.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/cpu/conv_plan.h"

namespace onward::kernels::cpu {

struct WinogradPlan {
  int64_t m = 0;       // output pixels of a tile along an axis: 2 or 4
  int64_t images = 0;  // phases of dilated ones
  int64_t phases = 1;  // of an image before it is cut
  int64_t channels = 0;
  int64_t filters = 0;
  int64_t in_h = 0, in_w = 0;
  int64_t out_h = 0, out_w = 0;
  int64_t pad_top = 0, pad_left = 0;
  int64_t tiles_h = 0, tiles_w = 0;
  int64_t width = 0;      // tiles of a block, those that fill the vectors included
  int64_t blocks = 0;     // of an image's tiles
  int64_t row_tiles = 0;  // of the filters
  int64_t group = 1;      // row tiles that are multiplied together, so that windows are read once
  bool shared = false;    // windows are transformed for all chunks, before the products
  int64_t row_tiles_per_chunk = 0;
  int64_t row_chunks = 0;
  // Floats from one frequency to the next: not a power of two, lest all lie in one set of the
  // cache.
  int64_t window_step = 0;
  int64_t product_step = 0;

  int64_t frequencies() const { return (m + 2) * (m + 2); }
  int64_t block_floats() const { return frequencies() * window_step; }
  int64_t product_floats() const { return frequencies() * product_step; }
  int64_t filter_floats() const { return frequencies() * filters * channels; }
  int64_t tiles() const { return tiles_h * tiles_w; }
  int64_t chunks() const { return images * blocks * row_chunks; }
  int64_t shared_floats() const { return shared ? images * blocks * block_floats() : 0; }
  int64_t worker_floats() const { return product_floats() + (shared ? 0 : block_floats()); }
};

struct WinogradSizes {
  int64_t channels = 0, filters = 0;
  int64_t out_h = 0, out_w = 0;  // 0: not known, and taken to be large
  bool constant_filters = true;  // others are transformed in each run
  int64_t phases = 1;            // of a dilated convolution, each of this size
};

// The sizes of a node with the output [batch, filters, height, width], as far as its type says.
WinogradSizes KnownSizes(const NodeSpec& spec, int64_t channels, int64_t filters,
                         bool constant_filters);

// The sizes of a convolution of constant filters, per phase, or nothing where WinogradProducts does
// not compute it.
std::optional<WinogradSizes> WinogradSizesOf(const ConvGeometry& geometry);

// The m with which a convolution of this size takes the least time, or 0 where that is a product
// of patches.
int64_t ChooseWinograd(int64_t lanes, const WinogradSizes& sizes);

// `geometry`: one that PhasesAsImages (pixel_phases.h) takes.
WinogradPlan PlanWinograd(const GemmTileKernels& tiles, int64_t m, const ConvGeometry& geometry);

}  // namespace onward::kernels::cpu
