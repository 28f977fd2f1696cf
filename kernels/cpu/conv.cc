// Conv and onward.FusedConv in float32 as products of weights and patches of the image, on the
// tiles of one instruction set.
#include <algorithm>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/conv_bands.h"
#include "kernels/cpu/conv_filters.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kSplitGrain = 16 * 1024;  // floats of planes: about 5 us
constexpr int64_t kLineFloats = 16;         // of a cache line
// Tiles of fewer steps of K wait for what they write where each vector lies in two lines, unless
// those come ahead.
constexpr int64_t kFewSteps = 32;

struct ConvData {
  const float* x;
  const float* w;  // as it is, or packed
  bool packed;
  const float* bias;
  const float* residual;
  float* y;
  const int64_t* tap_offsets;
  float* planes;   // where the plan packs patches
  float* patches;  // shared ones
  ActivationSpec activation;
};

class FloatConv {
 public:
  FloatConv(const GemmTileKernels& tiles, const ConvTileKernels& patches, const ConvPlan& plan,
            const ConvData& data)
      : tiles_(tiles), patches_(patches), plan_(plan), data_(data) {}

  // Channel `index` in [0, split_channels()) of all images as planes.
  int64_t split_channels() const {
    return plan_.splits_channels() ? plan_.images * plan_.channels : 0;
  }
  void SplitChannel(int64_t index) const {
    patches_.split_channel(plan_.window, data_.x + index * plan_.channel_floats,
                           data_.planes + index * plan_.plane_floats);
  }

  // Part `part` in [0, shared_parts()) of the shared patches, from the planes.
  int64_t shared_parts() const {
    return plan_.shared_patches ? plan_.images * ColumnTiles() * BlocksOfK() : 0;
  }
  void PackShared(int64_t part) const {
    const int64_t k0 = part % BlocksOfK() * plan_.k_block;
    const int64_t tile = part / BlocksOfK() % ColumnTiles();
    const int64_t image = part / BlocksOfK() / ColumnTiles();
    const RowRange pixels = PixelsOfColumnTile(tile);
    const int width = plan_.form == ConvForm::kPixelLanes ? tiles_.tile_cols : pixels.count;
    const int64_t k1 = std::min(plan_.k, k0 + plan_.k_block);
    float* to = data_.patches + image * plan_.patch_floats + pixels.begin * plan_.k + k0 * width;
    patches_.pack_patches(PatchesOf(image), pixels.begin, pixels.count, k0, k1, width, 0, to);
  }

  void Run(int64_t chunk, float* scratch) const {
    const int64_t image = chunk / (plan_.row_chunks * plan_.panel_chunks);
    const int64_t tile = chunk / plan_.panel_chunks % plan_.row_chunks * plan_.tiles_per_chunk;
    int64_t panel = chunk % plan_.panel_chunks * plan_.panels_per_chunk;
    const int64_t tile_end = std::min(plan_.row_tiles, tile + plan_.tiles_per_chunk);
    const int64_t panel_end = std::min(plan_.panels, panel + plan_.panels_per_chunk);
    if (plan_.form == ConvForm::kPixelLanes) {
      RunPixelLanes(image, tile, tile_end, panel, panel_end, scratch);
    } else {
      for (; panel < panel_end; ++panel) RunChannelLanes(image, tile, tile_end, panel, scratch);
    }
  }

 private:
  int64_t OutputOf(int64_t image, int64_t filter) const {
    return (image * plan_.m + filter) * plan_.out_floats + plan_.out_begin;
  }
  int64_t BlocksOfK() const { return CeilDiv(plan_.k, plan_.k_block); }
  int64_t ColumnTiles() const {
    return plan_.form == ConvForm::kPixelLanes ? plan_.panels : plan_.row_tiles;
  }
  RowRange PixelsOfColumnTile(int64_t tile) const {
    if (plan_.form == ConvForm::kChannelLanes) return RowsOfTile(plan_.n, plan_.row_tiles, tile);
    const int64_t begin = tile * tiles_.tile_cols;
    return {begin, static_cast<int>(std::min<int64_t>(tiles_.tile_cols, plan_.n - begin))};
  }

  PatchSource PatchesOf(int64_t image) const {
    PatchSource source;
    source.taps = plan_.window.taps();
    source.tap_offsets = data_.tap_offsets;
    source.out_w = plan_.window.out_w;
    if (plan_.pointwise) {
      source.planes = data_.x + image * plan_.image_floats();
      source.channel = source.row = plan_.n;
    } else {
      source.planes = data_.planes + image * plan_.channels * plan_.plane_floats;
      source.channel = plan_.plane_floats;
      source.has_slack = true;
      source.row = PlaneWidth(plan_.window);
    }
    return source;
  }

  // Points the tile at its pixels of P for steps [k0, k0 + tile.k); `slot`: the panel's place in
  // the worker's scratch.
  void SetPatches(int64_t image, int64_t panel, int64_t slot, int64_t k0, const float* scratch,
                  GemmTile& tile) const {
    const int64_t pixel = panel * tiles_.tile_cols;
    tile.cols = PixelsOfColumnTile(panel).count;
    tile.b_padded = plan_.packs_patches;
    tile.b_k = plan_.packs_patches ? tiles_.tile_cols : plan_.n;
    if (plan_.shared_patches) {
      tile.b = data_.patches + image * plan_.patch_floats + pixel * plan_.k + k0 * tile.b_k;
    } else if (plan_.packs_patches) {
      tile.b = scratch + slot * plan_.k_block * tile.b_k;
    } else {
      tile.b = data_.x + image * plan_.image_floats() + k0 * plan_.n + pixel;
    }
  }

  // The tile fetches its part, as one of `parts`, of the pixels that lie `ahead` panels further.
  void FetchPanel(int64_t panel, int64_t ahead, int64_t part, int64_t parts, GemmTile& tile) const {
    tile.fetch = {};
    if (panel + ahead >= plan_.panels) return;
    const int64_t pixels = ahead * tiles_.tile_cols, line = part * kLineFloats;
    if (plan_.shared_patches) {
      tile.fetch.TakePart(tile.b + pixels * plan_.k, tile.k * tile.b_k, part, parts, tile.k);
    } else if (!plan_.packs_patches && line < tiles_.tile_cols + kLineFloats) {
      const int64_t last = tiles_.tile_cols - 1;  // a panel may end in the line that follows
      tile.fetch = {tile.b + pixels + std::min(line, last), tile.b_k};
    }
  }

  void SetFilters(int64_t group, RowRange rows, int64_t k0, GemmTile& tile) const {
    const int64_t filter = group * plan_.m + rows.begin;
    tile.rows = rows.count;
    tile.a = data_.w + filter * plan_.k + (data_.packed ? k0 * rows.count : k0);
    tile.a_row = data_.packed ? 1 : plan_.k;
    tile.a_k = data_.packed ? rows.count : 1;
    if (data_.bias != nullptr) tile.bias_of_row = data_.bias + group * plan_.m + rows.begin;
  }

  void RunPixelLanes(int64_t image, int64_t tile_begin, int64_t tile_end, int64_t panel_begin,
                     int64_t panel_end, float* scratch) const {
    const int64_t group = image % plan_.groups;
    GemmTile tile;
    tile.c_row = tile.residual_row = plan_.out_floats;
    const bool fetches = plan_.k < kFewSteps && plan_.out_floats % kLineFloats != 0;
    for (int64_t k0 = 0; k0 == 0 || k0 < plan_.k; k0 += plan_.k_block) {
      const int64_t k = std::min(plan_.k_block, plan_.k - k0);
      tile.k = k;
      tile.accumulate = k0 > 0;
      if (k0 + k == plan_.k) tile.activation = data_.activation;
      if (plan_.packs_patches && !plan_.shared_patches) {
        const int64_t pixel = panel_begin * tiles_.tile_cols;
        const int64_t pixels = std::min(plan_.n, panel_end * tiles_.tile_cols) - pixel;
        const int64_t panel = plan_.k_block * tiles_.tile_cols;
        patches_.pack_patches(PatchesOf(image), pixel, pixels, k0, k0 + k, tiles_.tile_cols, panel,
                              scratch);
      }
      for (int64_t i = tile_begin; i < tile_end; ++i) {
        const RowRange rows = RowsOfTile(plan_.m, plan_.row_tiles, i);
        SetFilters(group, rows, k0, tile);
        for (int64_t p = panel_begin; p < panel_end; ++p) {
          SetPatches(image, p, p - panel_begin, k0, scratch, tile);
          FetchPanel(p, panel_end - panel_begin, i - tile_begin, tile_end - tile_begin, tile);
          const int64_t at = OutputOf(image, rows.begin) + p * tiles_.tile_cols;
          tile.c = data_.y + at;
          tile.residual = data_.residual == nullptr ? nullptr : data_.residual + at;
          if (fetches && p + 1 < panel_end)
            FetchRows(tile.c + tiles_.tile_cols, tile.c_row, rows.count, tiles_.tile_cols);
          tiles_.tile(tile);
        }
      }
    }
  }

  void RunChannelLanes(int64_t image, int64_t tile_begin, int64_t tile_end, int64_t panel,
                       float* sums) const {
    const int64_t filter = panel * tiles_.tile_cols, group = image % plan_.groups;
    const float* w = data_.w + (group * plan_.panels + panel) * plan_.k * tiles_.tile_cols;
    const auto pixels_of = [&](int64_t i) { return RowsOfTile(plan_.n, plan_.row_tiles, i); };
    const int64_t first = pixels_of(tile_begin).begin;
    GemmTile tile;
    tile.cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, plan_.m - filter));
    tile.b_k = tile.c_row = tiles_.tile_cols;
    tile.b_padded = true;
    tile.a_row = 1;
    if (data_.bias != nullptr) tile.bias_of_column = data_.bias + group * plan_.m + filter;
    for (int64_t k0 = 0; k0 == 0 || k0 < plan_.k; k0 += plan_.k_block) {
      tile.k = std::min(plan_.k_block, plan_.k - k0);
      tile.accumulate = k0 > 0;
      tile.b = w + k0 * tile.b_k;
      const int64_t block = tile.k * tile.b_k;
      const bool is_last = panel + 1 == plan_.panels && k0 + tile.k == plan_.k;
      for (int64_t i = tile_begin; i < tile_end; ++i) {
        // The weights that follow, of this panel or of the next.
        tile.fetch.TakePart(is_last ? nullptr : tile.b + block, block, i - tile_begin,
                            tile_end - tile_begin, tile.k);
        const RowRange pixels = pixels_of(i);
        tile.rows = pixels.count;
        if (plan_.pointwise) {
          tile.a_k = plan_.n;
          tile.a = data_.x + image * plan_.image_floats() + k0 * plan_.n + pixels.begin;
        } else {
          tile.a_k = pixels.count;
          tile.a = data_.patches + image * plan_.patch_floats + pixels.begin * plan_.k +
                   k0 * pixels.count;
        }
        tile.c = sums + (pixels.begin - first) * tile.c_row;
        tiles_.tile(tile);
      }
    }
    const int64_t at = OutputOf(image, filter) + first;
    const RowRange last = pixels_of(tile_end - 1);
    patches_.store_transposed(sums, tile.c_row, static_cast<int>(last.begin + last.count - first),
                              tile.cols, data_.residual == nullptr ? nullptr : data_.residual + at,
                              data_.activation, data_.y + at, plan_.out_floats);
  }

  const GemmTileKernels& tiles_;
  const ConvTileKernels& patches_;
  const ConvPlan& plan_;
  const ConvData& data_;
};

// One band of rows. Scratch: the planes, the shared patches, then each worker's part.
struct BandState {
  ConvPlan plan;
  const int64_t* tap_offsets = nullptr;
  const float* live_filters = nullptr;  // packed anew, where taps were left out
  int64_t patches_offset = 0;
  int64_t workers_offset = 0;
};

struct ConvState {
  absl::Span<BandState> bands;
};

class Products : public ConvAlgorithm {
 public:
  Products(const GemmTileKernels& tiles, ActivationSpec activation, ConvForm form, Tensor packed)
      : tiles_(tiles),
        patches_(kConvTilesPerTarget.For(tiles.target)()),
        activation_(activation),
        form_(form),
        packed_(std::move(packed)) {}

  const void* Bind(BindContext& context, const ConvGeometry& g) const override {
    absl::InlinedVector<ConvBand, 5> cuts = {{0, g.axes[0].output}};
    if (g.axes.size() == 2 && !packed_.empty()) cuts = CutIntoBands(g.axes, tiles_.tile_cols / 2);
    const int64_t count = static_cast<int64_t>(cuts.size());
    BandState* bands = context.NewArray<BandState>(count);
    int64_t floats = 0;
    for (int64_t i = 0; i < count; ++i) {
      floats = std::max(floats, BindBand(context, g, cuts[static_cast<size_t>(i)], bands[i]));
    }
    auto* state = context.NewArray<ConvState>(1);
    state->bands = {bands, cuts.size()};
    context.SetScratch(floats * static_cast<int64_t>(sizeof(float)));
    return state;
  }

  void Run(RunContext& context, const void* state) const override {
    for (const BandState& band : static_cast<const ConvState*>(state)->bands)
      RunBand(context, band);
  }

 private:
  // Returns the floats of scratch.
  int64_t BindBand(BindContext& context, ConvGeometry g, const ConvBand& band,
                   BandState& state) const {
    const int64_t out_floats = g.output_size();
    g.axes[0] = RowsOfBand(g.axes[0], band);
    state.live_filters = LeaveDeadTapsOut(context, tiles_, form_, packed_, g);
    state.plan = PlanConv(tiles_, form_, g);
    state.plan.out_floats = out_floats;
    state.plan.out_begin = g.axes.size() == 2 ? band.begin * g.axes[1].output : band.begin;
    state.tap_offsets = KeepTapOffsets(context, state.plan.window);
    state.patches_offset = CeilDiv(state.plan.planes_size(), kMaxPatchWidth) * kMaxPatchWidth;
    state.workers_offset = state.patches_offset + state.plan.images * state.plan.patch_floats;
    return state.workers_offset + state.plan.worker_floats * context.num_workers();
  }

  void RunBand(RunContext& context, const BandState& state) const {
    const ConvPlan& plan = state.plan;
    if (plan.images == 0) return;
    const auto optional = [&](int i) {
      return context.has_input(i) ? context.in<float>(i) : nullptr;
    };
    float* scratch = context.scratch<float>();
    const ConvData data = {context.in<float>(0),
                           state.live_filters != nullptr ? state.live_filters
                           : packed_.empty()             ? context.in<float>(1)
                                                         : packed_.data<float>(),
                           !packed_.empty(),
                           optional(2),
                           optional(3),
                           context.out<float>(0),
                           state.tap_offsets,
                           plan.planes_size() > 0 ? scratch + kPatchSlack : nullptr,
                           scratch + state.patches_offset,
                           activation_};
    const FloatConv conv(tiles_, patches_, plan, data);
    const int64_t channel_size = std::max<int64_t>(1, plan.plane_floats);
    context.ParallelFor(conv.split_channels(), CeilDiv(kSplitGrain, channel_size),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) conv.SplitChannel(i);
                        });
    context.ParallelFor(conv.shared_parts(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) conv.PackShared(part);
    });
    context.ParallelForWorkers(plan.chunks(), 1, [&](int worker, int64_t begin, int64_t end) {
      float* own = scratch + state.workers_offset + worker * plan.worker_floats;
      for (int64_t chunk = begin; chunk < end; ++chunk) conv.Run(chunk, own);
    });
  }

  const GemmTileKernels& tiles_;
  const ConvTileKernels& patches_;
  ActivationSpec activation_;
  ConvForm form_;
  Tensor packed_;
};

// The form for the size of the images, where that is known and W constant.
ConvForm FormFor(const NodeSpec& spec, const ConvAttributes& attributes,
                 const GemmTileKernels& tiles) {
  const std::optional<ConvGeometry> g = KnownGeometry(spec, attributes);
  return g ? ChooseConvForm(tiles, *g) : ConvForm::kPixelLanes;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithTiles(const NodeSpec& spec,
                                                      const GemmTileKernels& tiles) {
  const auto& shape = spec.input_type(1).shape;
  if (!shape || shape->size() > 4)
    return absl::UnimplementedError("one or two spatial axes only, known when compiling");
  ONWARD_ASSIGN_OR_RETURN(const ConvAttributes attributes, ConvAttributes::Parse(spec));
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  if (spec.only_asks()) return nullptr;
  const ConvForm form = FormFor(spec, attributes, tiles);
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, PackConstantFilters(spec, tiles, form, attributes.group));
  return ConvKernel(attributes, ConvProducts(tiles, activation, form, std::move(packed)));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConv(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return MakeWithTiles(spec, kGemmTilesPerTarget.For(TargetOf(spec))());
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "conv", MakeConv, kVectorTargets},
    {"onward", "FusedConv", "fused_conv", MakeConv, kVectorTargets},
};

}  // namespace

std::unique_ptr<ConvAlgorithm> ConvProducts(const GemmTileKernels& tiles, ActivationSpec activation,
                                            ConvForm form, Tensor packed) {
  return std::make_unique<Products>(tiles, activation, form, std::move(packed));
}

KernelList ConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
