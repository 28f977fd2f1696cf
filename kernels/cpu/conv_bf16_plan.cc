// The cuts of a convolution of pairs of bfloat16 into tiles, panels and chunks, and its scratch.
#include <algorithm>

#include "kernels/cpu/conv_bf16.h"
#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxBlockOfK = 512;  // words
constexpr int64_t kWantedChunks = 16;
constexpr int64_t kMinChunkProducts = 1200 * 1000;  // about 5 us
constexpr int64_t kMaxWorkerPatches = 128 * 1024;   // words: half the second-level cache
constexpr int64_t kLine = 16;  // words; packed rows begin in different sets of the cache
// Narrower rows leave more of a register empty than packing their patches costs, and fewer pairs of
// channels leave it short.
constexpr int64_t kMinDirectColumns = 9;
constexpr int64_t kMinDirectPairs = 8;
// Packed patches that more filters share cost less than what lies apart.
constexpr int64_t kMaxDirectTiles = 4;
constexpr int64_t kManyDirectPairs = 64;
constexpr double kMaxDirectPlanes = 512 * 1024;  // words of one image: the second-level cache

// Whole channels, so that the taps of one are packed together, and whole registers.
int64_t BlockOfK(const GemmTileKernels& tiles, int64_t pairs, int64_t taps) {
  if (taps > kMaxBlockOfK) return EvenPiece(pairs * taps, kMaxBlockOfK);
  const int64_t piece = EvenPiece(pairs, kMaxBlockOfK / taps);
  const bool fits = !tiles.reads_by_row || piece == pairs;
  return taps * (fits ? piece : CeilDiv(piece, kLine) * kLine);
}

}  // namespace

bool ReadsPlanesDirectly(const GemmTileKernels& tiles, const ConvGeometry& g) {
  PairsImages images;
  images.window = WindowOf(g.axes);
  images.channels = g.channels / g.group;
  const int64_t row_tiles = CeilDiv(g.filters / g.group, tiles.tile_rows);
  const PatchWindow& w = images.window;
  const double plane = static_cast<double>(w.stride_h) * static_cast<double>(w.stride_w) *
                       static_cast<double>(PlaneRows(w)) * static_cast<double>(PlaneWidth(w));
  return tiles.reads_by_row && g.kernel_size() > 1 && w.out_w >= kMinDirectColumns &&
         images.pairs() >= kMinDirectPairs &&
         (row_tiles <= kMaxDirectTiles || images.pairs() >= kManyDirectPairs) &&
         plane * static_cast<double>(g.group * images.pairs()) <= kMaxDirectPlanes;
}

void CutPairsConv(const GemmTileKernels& tiles, const PairsImages& images, PairsConvPlan& plan) {
  plan.k = images.pairs() * plan.taps;
  plan.pixels = images.batch * plan.image_pixels();
  plan.k_block = BlockOfK(tiles, images.pairs(), plan.taps);
  plan.row_tiles = CeilDiv(plan.m, tiles.tile_rows);
  plan.panels = CeilDiv(plan.pixels, tiles.tile_cols);
  if (plan.direct) {
    plan.row_panels = CeilDiv(plan.columns, tiles.tile_cols);
    plan.panels = images.batch * plan.rows * plan.row_panels;
    plan.k_block = plan.k;
  }
  const int64_t tile_products =
      std::max<int64_t>(1, tiles.tile_rows * tiles.tile_cols * 2 * plan.k);
  const int64_t least_tiles = CeilDiv(kMinChunkProducts, tile_products);
  const int64_t strips = plan.panels * images.groups;
  plan.shared = strips < kWantedChunks;
  if (!plan.shared) {
    const int64_t held = kMaxWorkerPatches / (plan.k_block * tiles.tile_cols);
    const int64_t cap =
        plan.direct ? kMaxPatchPanels : std::clamp<int64_t>(held, 1, kMaxPatchPanels);
    const int64_t wanted = std::max(strips / kWantedChunks, least_tiles / plan.row_tiles);
    plan.tiles_per_chunk = plan.row_tiles;
    plan.panels_per_chunk = EvenPiece(plan.panels, std::clamp<int64_t>(wanted, 1, cap));
  } else {
    plan.panels_per_chunk = EvenPiece(plan.panels, kMaxPatchPanels);
    const int64_t all =
        plan.row_tiles * CeilDiv(plan.panels, plan.panels_per_chunk) * images.groups;
    plan.tiles_per_chunk = EvenPiece(
        plan.row_tiles,
        std::max({int64_t{1}, all / kWantedChunks, CeilDiv(least_tiles, plan.panels_per_chunk)}));
  }
  plan.row_chunks = CeilDiv(plan.row_tiles, plan.tiles_per_chunk);
  plan.panel_chunks = CeilDiv(plan.panels, plan.panels_per_chunk);
  plan.filter_row = CeilDiv(plan.k, kLine) * kLine + kLine;
  plan.filter_floats = plan.packs_filters ? images.groups * plan.m * plan.filter_row : 0;
  if (plan.direct) return;  // no patches, and sums go to Y
  plan.patch_floats = plan.shared ? images.groups * plan.panels * plan.k * tiles.tile_cols : 0;
  plan.packed_floats = plan.shared ? 0 : plan.panels_per_chunk * plan.k_block * tiles.tile_cols;
  plan.worker_floats = plan.packed_floats + plan.tiles_per_chunk * tiles.tile_rows *
                                                plan.panels_per_chunk * tiles.tile_cols;
}

}  // namespace onward::kernels::cpu
