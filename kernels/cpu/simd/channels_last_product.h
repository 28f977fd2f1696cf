// Products of windows over images with their channels last, of bfloat16 in targets that multiply
// pairs of them and of float32 in the others.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/simd/run_product.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// Neighbouring pixels of Y, whose windows begin evenly apart.
struct PixelSegment {
  const char* from;  // where the first one's window begins
  int64_t pixel;     // of Y
  int skipped;       // so many of the first ones belong to the segment before, too
  uint64_t runs;     // bit i: windows have more than padding in run i; read where skips_runs is set
};

// Y[pixel, filter] = activation(sums over runs of windows times a panel of filters + bias +
// residual), of all pixels of some segments. Panels as in run_product.h.
struct PanelProduct {
  const PixelSegment* segments = nullptr;
  int64_t num_segments = 0;
  int segment_pixels = 0;
  int64_t pixel_bytes = 0;        // from the window of one pixel of a segment to that of the next
  const int64_t* runs = nullptr;  // bytes from the beginning of a window to each run
  int64_t num_runs = 1;
  int64_t row_runs = 1;     // of a row of the window
  bool skips_runs = false;  // of padding alone, which need not be there
  int64_t units = 0;        // of a run, in the panel
  // Where the last step of a run begins in the window, for tiles that take several units at a time:
  // the panel is zero for units that were taken before.
  int64_t last_unit = INT64_MAX;
  const void* panel = nullptr;
  FetchAhead<char> fetch = {};  // by units of all runs, and by tiles

  int cols = 0;                    // filters of the panel
  const float* bias = nullptr;     // of the first one; null: zeros
  const void* residual = nullptr;  // as Y; null: zeros
  ActivationSpec activation;
  void* y = nullptr;    // at the first pixel, the panel's first filter
  int64_t y_pixel = 0;  // elements from one pixel to the next
};

struct ChannelsLastProducts {
  RunTileSizes sizes;
  int segments;    // of a tile, each of tile_rows pixels at most
  int step_units;  // of a panel: runs of more units are padded to whole steps
  // Multiplies units: pairs of bfloat16, or a float each.
  void (*multiply)(const PanelProduct& product);
  // The same where each filter has a channel of its own: a run has tile_cols channels, one after
  // another, and the panel is float32.
  void (*depthwise)(const PanelProduct& product);
  // Writes y of one segment whose sums are given, tile_cols apart: reads no windows and no panel.
  void (*finish)(const PanelProduct& product, const PixelSegment& segment, const float* sums);
  // A unit of a panel, of two rows of tile_cols floats for pairs, else of the first; `second` may
  // be null: zeros.
  void (*pack_unit)(const float* first, const float* second, float* to);
};

ONWARD_PER_TARGET(kVectorLoops | kBf16Loops, const ChannelsLastProducts&, LastProducts, ())

}  // namespace onward::kernels::cpu
