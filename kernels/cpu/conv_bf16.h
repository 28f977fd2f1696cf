// Convolutions as products of pairs of bfloat16, two neighbouring channels to a word: per group,
// Y[m, pixel] = sum over pairs of channels and taps of W times X, over the pixels of all images.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/simd/conv_bf16.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// X, rounded to planes of words (conv_tile.h), one for each pair of channels of a group.
struct PairsImages {
  PatchWindow window;  // of the planes
  int64_t batch = 0, groups = 1;
  int64_t channels = 0;                 // of a group
  int64_t channel_floats = 0;           // of one channel of X
  bool points = false;                  // pixels are those of X: it is read as it lies
  Target target = Target::kAvx512Bf16;  // of the loops

  int64_t pairs() const { return (channels + 1) / 2; }
  int64_t plane() const { return ChannelPlanes(window); }
  int64_t planes() const { return points ? 0 : batch * groups * pairs(); }
  int64_t floats() const { return points ? 0 : planes() * plane() + 2 * kPatchSlack; }
};

// Where weights lie: floats from one to the next.
struct PairsFilters {
  int64_t group = 0, filter = 0, channel = 0;
  int64_t taps = 1;  // side by side
};

// Those of a convolution, W [groups * m, channels, taps].
inline PairsFilters PairsFiltersOf(int64_t m, int64_t channels, int64_t taps) {
  return {m * channels * taps, channels * taps, taps, taps};
}

// Where the pixel in `row` and `column` of a channel of Y lies: at begin + row * row_floats +
// column * column_floats.
struct PairsTarget {
  int64_t begin = 0, row_floats = 0, column_floats = 1;
  int64_t channel_floats = 0;
};

// One product and how it is cut, which depends on sizes alone.
struct PairsConvPlan {
  int64_t m = 0;  // filters of a group
  int64_t rows = 0, columns = 0;
  int64_t taps = 0;
  const int64_t* tap_offsets = nullptr;  // [taps] in the planes
  const int32_t* tap_index = nullptr;    // [taps] among those of the filters
  PairsFilters filters;
  bool packs_filters = true;  // in each run; else PairsConvData has packed ones
  // K is taps of pairs of channels, not pairs of taps: tiles read each tap of the planes as it
  // lies, and no patches are packed.
  bool direct = false;
  PairsTarget target;
  int64_t k = 0;       // words
  int64_t pixels = 0;  // of all images
  int64_t row_tiles = 0, tiles_per_chunk = 0, row_chunks = 0;
  int64_t panels = 0, panels_per_chunk = 0, panel_chunks = 0;
  int64_t row_panels = 0;  // panels of each row of Y, where planes are read directly
  int64_t k_block = 0;
  bool shared = false;  // patches are packed for all chunks, before the products
  int64_t filter_row = 0;
  int64_t filter_floats = 0, patch_floats = 0, worker_floats = 0;
  int64_t packed_floats = 0;  // of worker_floats: the packed patches

  // Filters are packed side by side, as they lie.
  bool by_columns() const { return filters.taps == 1 && filters.filter == 1; }
  int64_t image_pixels() const { return rows * columns; }
  int64_t floats(int num_workers) const {
    return filter_floats + patch_floats + worker_floats * num_workers;
  }
};

// Returns whether planes should be read directly, whatever the batch of `g` is.
bool ReadsPlanesDirectly(const GemmTileKernels& tiles, const ConvGeometry& g);

// Fills in what follows from m, rows, columns, taps, packs_filters and direct.
void CutPairsConv(const GemmTileKernels& tiles, const PairsImages& images, PairsConvPlan& plan);

// The filters of a convolution W [filters, channels of a group, taps...], packed once.
absl::StatusOr<Tensor> PackPairsFilters(Target target, const Tensor& w, int64_t groups,
                                        bool direct);

struct PairsConvData {
  const float* x = nullptr;
  const float* w = nullptr;         // or
  const float* filters = nullptr;   // what PackPairsFilters made of it
  const float* bias = nullptr;      // [groups * m]
  const float* residual = nullptr;  // as Y
  float* y = nullptr;
  ActivationSpec activation;
  float* planes = nullptr;   // images.floats()
  float* scratch = nullptr;  // plan.floats()
};

void MakePlanes(const PairsImages& images, const PairsConvData& data, const RunContext& context);
void RunPairsConv(const PairsImages& images, const PairsConvPlan& plan, const PairsConvData& data,
                  const RunContext& context);

}  // namespace onward::kernels::cpu
