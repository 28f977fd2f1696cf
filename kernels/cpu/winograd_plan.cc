#include "kernels/cpu/winograd_plan.h"

#include <algorithm>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/pixel_phases.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kWantedChunks = 16;
constexpr int64_t kLeastChannels = 16;
constexpr int64_t kMostProducts = 64 * 1024;  // floats: a part of the second-level cache
constexpr int64_t kCacheLine = 16;            // floats
// Vector operations that take as long as reading a weight from memory.
constexpr double kWeight = 0.5;
constexpr int64_t kMostFilterFloats = 20 * 1024 * 1024;  // of the scratch of a run
constexpr double kTransform = 16;  // those of transforming and storing a filter
constexpr double kPhaseCopy = 4;   // those of moving a vector to its phase

// Vector operations that a convolution takes for `vectors` vectors of tiles or pixels, of patches
// and of windows.
double CostOfPatches(double vectors, double channels, double filters) {
  return 9 * channels * (vectors * (filters + 6) + kWeight * filters);
}
double CostOfTiles(double m, double vectors, double channels, double filters) {
  return (m + 2) * (m + 2) *
         (vectors * (channels * filters + 12 * channels + 12 * filters) +
          kWeight * channels * filters);
}

}  // namespace

WinogradSizes KnownSizes(const NodeSpec& spec, int64_t channels, int64_t filters,
                         bool constant_filters) {
  const auto& shape = spec.output_type(0).shape;
  const auto size = [&](size_t axis) -> int64_t {
    return shape && axis < shape->size() && (*shape)[axis].known() ? (*shape)[axis].value() : 0;
  };
  return {channels, filters, size(2), size(3), constant_filters};
}

std::optional<WinogradSizes> WinogradSizesOf(const ConvGeometry& geometry) {
  const std::optional<ConvGeometry> images = PhasesAsImages(geometry);
  if (!images || geometry.group != 1 || geometry.output_size() == 0) return std::nullopt;
  for (const WindowAxis& axis : images->axes)
    if (axis.kernel != 3) return std::nullopt;
  const int64_t phases = geometry.axes[0].dilation * geometry.axes[1].dilation;
  return WinogradSizes{geometry.channels,         geometry.filters,
                       images->axes[0].output,    images->axes[1].output,
                       /*constant_filters=*/true, phases};
}

int64_t ChooseWinograd(int64_t lanes, const WinogradSizes& sizes) {
  if (sizes.channels < kLeastChannels || sizes.filters < kLeastChannels) return 0;
  const auto fits = [&](int64_t m) {
    return sizes.constant_filters ||
           (m + 2) * (m + 2) * sizes.channels * sizes.filters <= kMostFilterFloats;
  };
  if (sizes.out_h == 0 || sizes.out_w == 0) return fits(4) ? 4 : 0;
  const auto vectors = [&](int64_t m) {
    return static_cast<double>(sizes.phases *
                               CeilDiv(CeilDiv(sizes.out_h, m) * CeilDiv(sizes.out_w, m), lanes));
  };
  const double c = static_cast<double>(sizes.channels), f = static_cast<double>(sizes.filters);
  const double pixels =
      static_cast<double>(CeilDiv(sizes.phases * sizes.out_h * sizes.out_w, lanes));
  double least = CostOfPatches(pixels, c, f);
  const double transform = sizes.constant_filters ? 0 : kTransform * c * f;
  const double phases = sizes.phases > 1 ? kPhaseCopy * pixels * (c + f) : 0;
  int64_t best = 0;
  for (const int64_t m : {2, 4}) {
    const double cost = CostOfTiles(static_cast<double>(m), vectors(m), c, f) + transform + phases;
    if (cost < least && fits(m)) {
      least = cost;
      best = m;
    }
  }
  return best;
}

WinogradPlan PlanWinograd(const GemmTileKernels& tiles, int64_t m, const ConvGeometry& geometry) {
  const ConvGeometry g = *PhasesAsImages(geometry);
  WinogradPlan plan;
  plan.phases = geometry.axes[0].dilation * geometry.axes[1].dilation;
  plan.m = m;
  plan.channels = g.channels;
  plan.filters = g.filters;
  const WindowAxis &rows = g.axes[0], &columns = g.axes[1];
  plan.in_h = rows.input;
  plan.in_w = columns.input;
  plan.out_h = rows.output;
  plan.out_w = columns.output;
  plan.pad_top = rows.pad_begin;
  plan.pad_left = columns.pad_begin;
  plan.tiles_h = CeilDiv(plan.out_h, m);
  plan.tiles_w = CeilDiv(plan.out_w, m);
  if (g.batch == 0 || plan.tiles() == 0) return plan;
  plan.images = g.batch;
  const int64_t most = EvenPiece(plan.tiles(), tiles.tile_cols);
  const int64_t lanes = tiles.tile_cols / 2;
  plan.width = CeilDiv(most, lanes) * lanes;
  plan.blocks = CeilDiv(plan.tiles(), plan.width);
  plan.row_tiles = CeilDiv(plan.filters, tiles.tile_rows);
  plan.shared = plan.images * plan.blocks < kWantedChunks;
  plan.row_tiles_per_chunk =
      plan.shared ? EvenPiece(plan.row_tiles,
                              CeilDiv(plan.row_tiles * plan.images * plan.blocks, kWantedChunks))
                  : plan.row_tiles;
  plan.row_chunks = CeilDiv(plan.row_tiles, plan.row_tiles_per_chunk);
  const int64_t products = tiles.tile_rows * plan.width;
  plan.group = EvenPiece(plan.row_tiles_per_chunk,
                         std::max<int64_t>(1, kMostProducts / (plan.frequencies() * products)));
  plan.window_step = plan.channels * plan.width + kCacheLine;
  plan.product_step = plan.group * products + kCacheLine;
  return plan;
}

}  // namespace onward::kernels::cpu
