#include "kernels/cpu/conv_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxBlockOfK = 512;
constexpr int64_t kWantedChunks = 16;
constexpr int64_t kMinChunkProducts = 600 * 1000;  // about 5 us
constexpr int64_t kMinPanelProducts = 300 * 1000;  // of a chunk that is part of one panel
constexpr int64_t kMaxWorkerPatches = 128 * 1024;  // floats: half the second-level cache
constexpr int64_t kMaxChannelLanePixels = 256;
// Reading P from the image costs more than packing it when rows are far apart and many tiles come
// by. Rows just a page apart share one set of the first-level cache; so many are too many for the
// second-level cache's sets, too.
constexpr int64_t kFarRows = 1024;
constexpr int64_t kCollidingRows = 256;
constexpr int64_t kManyFilters = 64;

bool IsPointwise(const WindowAxes& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.input == axis.output;
  });
}

bool ReadsFarRows(const ConvPlan& plan) {
  if (plan.m < kManyFilters) return false;
  return plan.n > kFarRows || (plan.n == kFarRows && plan.k > kCollidingRows);
}

void CutPixelLanes(const GemmTileKernels& tiles, ConvPlan& plan) {
  plan.row_tiles = CeilDiv(plan.m, tiles.tile_rows);
  plan.panels = CeilDiv(plan.n, tiles.tile_cols);
  plan.packs_patches = plan.k > 0 && (!plan.pointwise || ReadsFarRows(plan));
  const int64_t strips = plan.panels * plan.images;
  const int64_t tile_products = std::max<int64_t>(1, tiles.tile_rows * tiles.tile_cols * plan.k);
  const int64_t least_tiles = CeilDiv(kMinChunkProducts, tile_products);
  if (strips >= kWantedChunks) {
    plan.tiles_per_chunk = plan.row_tiles;
    const int64_t cap = std::clamp<int64_t>(kMaxWorkerPatches / (plan.k_block * tiles.tile_cols), 1,
                                            kMaxPatchPanels);
    const int64_t wanted = std::max(strips / kWantedChunks, least_tiles / plan.row_tiles);
    plan.panels_per_chunk = EvenPiece(plan.panels, std::clamp<int64_t>(wanted, 1, cap));
  } else {
    // One panel at a time: while it is multiplied, the next one comes from the core that wrote it.
    plan.panels_per_chunk = 1;
    plan.tiles_per_chunk =
        EvenPiece(plan.row_tiles, std::max({int64_t{1}, plan.row_tiles * strips / kWantedChunks,
                                            CeilDiv(kMinPanelProducts, tile_products)}));
    plan.shared_patches = plan.packs_patches && plan.tiles_per_chunk < plan.row_tiles;
  }
  if (plan.shared_patches) {
    plan.patch_floats = plan.panels * plan.k * tiles.tile_cols;
  } else if (plan.packs_patches) {
    plan.worker_floats = plan.panels_per_chunk * plan.k_block * tiles.tile_cols;
  }
}

void CutChannelLanes(const GemmTileKernels& tiles, ConvPlan& plan) {
  plan.row_tiles = CeilDiv(plan.n, tiles.tile_rows);
  plan.panels = CeilDiv(plan.m, tiles.tile_cols);
  plan.packs_patches = plan.shared_patches = !plan.pointwise && plan.k > 0;
  const int64_t panel_products = std::max<int64_t>(1, plan.n * tiles.tile_cols * plan.k);
  plan.panels_per_chunk =
      EvenPiece(plan.panels, std::max({int64_t{1}, plan.panels * plan.images / kWantedChunks,
                                       CeilDiv(kMinChunkProducts, panel_products)}));
  // Few panels are cut by pixels, too: three of them would leave two threads uneven.
  const int64_t chunks = CeilDiv(plan.panels, plan.panels_per_chunk) * plan.images;
  const int64_t tile_products = panel_products * plan.panels_per_chunk / plan.row_tiles;
  plan.tiles_per_chunk =
      EvenPiece(plan.row_tiles, std::max({int64_t{1}, plan.row_tiles * chunks / kWantedChunks,
                                          CeilDiv(kMinChunkProducts, tile_products)}));
  plan.patch_floats = plan.packs_patches ? plan.n * plan.k : 0;
  plan.worker_floats = plan.n * tiles.tile_cols;
}

}  // namespace

PatchWindow WindowOf(const WindowAxes& axes) {
  PatchWindow window;
  const WindowAxis& w = axes.back();
  window.in_w = w.input;
  window.out_w = w.output;
  window.kernel_w = w.kernel;
  window.stride_w = w.stride;
  window.dilation_w = w.dilation;
  window.pad_left = w.pad_begin;
  if (axes.size() < 2) return window;
  const WindowAxis& h = axes[axes.size() - 2];
  window.in_h = h.input;
  window.out_h = h.output;
  window.kernel_h = h.kernel;
  window.stride_h = h.stride;
  window.dilation_h = h.dilation;
  window.pad_top = h.pad_begin;
  return window;
}

const int64_t* KeepTapOffsets(BindContext& context, const PatchWindow& window) {
  int64_t* offsets = context.NewArray<int64_t>(window.taps());
  for (int64_t t = 0; t < window.taps(); ++t)
    offsets[t] = TapOffset(window, t / window.kernel_w, t % window.kernel_w);
  return offsets;
}

std::optional<ConvGeometry> KnownGeometry(const NodeSpec& spec, const ConvAttributes& attributes) {
  const auto& shape = spec.input_type(0).shape;
  const Tensor* w = spec.constant(1);
  if (!shape || w == nullptr) return std::nullopt;
  Dims x = {1};
  for (size_t i = 1; i < shape->size(); ++i) {
    if (!(*shape)[i].known()) return std::nullopt;
    x.push_back((*shape)[i].value());
  }
  absl::StatusOr<ConvGeometry> geometry = ConvDims(attributes, x, w->dims(), nullptr);
  if (!geometry.ok()) return std::nullopt;
  return *std::move(geometry);
}

absl::StatusOr<ConvGeometry> BindConv(const ConvAttributes& attributes, BindContext& context) {
  ONWARD_ASSIGN_OR_RETURN(ConvGeometry geometry, ConvDims(attributes, context));
  ONWARD_RETURN_IF_ERROR(CheckResidual(context, geometry.output));
  context.SetOutput(0, geometry.output);
  if (context.has_input(3)) context.AllowInPlace(0, 3);
  return geometry;
}

absl::StatusOr<ConvGeometry> BindConv(const ConvTransposeAttributes& attributes,
                                      BindContext& context) {
  ONWARD_ASSIGN_OR_RETURN(ConvGeometry geometry, ConvTransposeDims(attributes, context));
  context.SetOutput(0, geometry.output);
  for (WindowAxis& axis : geometry.axes) {
    std::swap(axis.input, axis.output);
    axis.pad_begin = axis.kernel - 1 - axis.pad_begin;
  }
  return geometry;
}

ConvForm ChooseConvForm(const GemmTileKernels& tiles, const ConvGeometry& g) {
  const int64_t lanes = tiles.tile_cols / 2;
  const int64_t m = g.filters / g.group, n = g.output_size();
  const int64_t k = g.channels / g.group * g.kernel_size();
  if (n == 0 || m == 0 || n > kMaxChannelLanePixels) return ConvForm::kPixelLanes;
  const auto filled = [&](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(CeilDiv(count, lanes) * lanes);
  };
  // A transposed store costs about as much as 17 steps of k.
  const double transposed = filled(m) * static_cast<double>(k) / static_cast<double>(k + 17);
  return transposed > filled(n) ? ConvForm::kChannelLanes : ConvForm::kPixelLanes;
}

ConvPlan PlanConv(const GemmTileKernels& tiles, ConvForm form, const ConvGeometry& g) {
  ConvPlan plan;
  plan.form = form;
  plan.groups = g.group;
  plan.images = g.batch * g.group;
  plan.m = g.filters / g.group;
  plan.n = plan.out_floats = g.output_size();
  plan.k = g.channels / g.group * g.kernel_size();
  plan.channels = g.channels / g.group;
  plan.channel_floats = g.input_size();
  plan.pointwise = IsPointwise(g.axes);
  if (plan.pointwise) {
    plan.window.in_w = plan.window.out_w = plan.n;
  } else {
    plan.window = WindowOf(g.axes);
  }
  if (plan.m == 0 || plan.n == 0 || plan.images == 0) {
    plan.images = 0;
    return plan;
  }
  // Whole channels, so that the taps of one are packed together.
  const int64_t taps = plan.window.taps();
  plan.k_block = taps <= kMaxBlockOfK ? taps * EvenPiece(plan.channels, kMaxBlockOfK / taps)
                                      : EvenPiece(plan.k, kMaxBlockOfK);
  form == ConvForm::kPixelLanes ? CutPixelLanes(tiles, plan) : CutChannelLanes(tiles, plan);
  plan.plane_floats = ChannelPlanes(plan.window);
  plan.row_chunks = CeilDiv(plan.row_tiles, plan.tiles_per_chunk);
  plan.panel_chunks = CeilDiv(plan.panels, plan.panels_per_chunk);
  return plan;
}

}  // namespace onward::kernels::cpu
