// Conv and onward.FusedConv in float32 of small images whose taps lie so far apart that most of
// them meet padding: each tap is multiplied with the outputs that it reaches, so that its weights
// are read once. Lanes are filters.
#include <algorithm>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/dilated_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxBlockOfK = 256;
constexpr int64_t kMaxTaps = 64;            // bounds the parts
constexpr int64_t kSplitGrain = 16 * 1024;  // floats of planes: about 5 us

struct DilatedState {
  PatchWindow window;
  absl::Span<DilatedPlan::Region> regions;
  absl::Span<DilatedPlan::Reach> reaches;
  int64_t images = 0, channels = 0, filters = 0, outputs = 0;
  int64_t filter_taps = 0;  // those that meet only padding included
  int64_t image_patches = 0;
  int64_t planes_offset = 0, patches_offset = 0, workers_offset = 0;  // in scratch
  int64_t worker_floats = 0;

  int64_t plane_floats() const { return ChannelPlanes(window); }
  int64_t image_planes() const { return channels * plane_floats(); }
};

class Dilated : public ConvAlgorithm {
 public:
  Dilated(const GemmTileKernels& tiles, ActivationSpec activation, Tensor packed)
      : tiles_(tiles),
        patches_(kConvTilesPerTarget.For(tiles.target)()),
        activation_(activation),
        packed_(std::move(packed)) {}

  const void* Bind(BindContext& context, const ConvGeometry& g) const override {
    const DilatedPlan plan = PlanDilated(g);
    auto* s = context.NewArray<DilatedState>(1);
    s->window = plan.window;
    s->regions = context.Keep(absl::MakeConstSpan(plan.regions));
    s->reaches = context.Keep(absl::MakeConstSpan(plan.reaches));
    s->images = g.batch, s->channels = g.channels, s->filters = g.filters;
    s->outputs = g.output_size(), s->filter_taps = g.kernel_size();
    s->image_patches = plan.products * g.channels;
    s->planes_offset = kPatchSlack;
    s->patches_offset = 2 * kPatchSlack + g.batch * s->image_planes();
    s->workers_offset = s->patches_offset + g.batch * s->image_patches;
    s->worker_floats = s->outputs * tiles_.tile_cols;
    context.SetScratch((s->workers_offset + s->worker_floats * context.num_workers()) *
                       static_cast<int64_t>(sizeof(float)));
    return s;
  }

  void Run(RunContext& context, const void* state) const override {
    const DilatedState& s = *static_cast<const DilatedState*>(state);
    float* scratch = context.scratch<float>();
    const float* x = context.in<float>(0);
    const int64_t in_size = s.window.in_h * s.window.in_w, plane = s.plane_floats();
    context.ParallelFor(s.images * s.channels, CeilDiv(kSplitGrain, plane),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            patches_.split_channel(s.window, x + i * in_size,
                                                   scratch + s.planes_offset + i * plane);
                          }
                        });
    const int64_t reaches = std::ssize(s.reaches), panels = CeilDiv(s.filters, tiles_.tile_cols);
    context.ParallelFor(s.images * reaches, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / reaches;
        Pack(s, s.reaches[static_cast<size_t>(i % reaches)],
             scratch + s.planes_offset + image * s.image_planes(),
             scratch + s.patches_offset + image * s.image_patches);
      }
    });
    context.ParallelForWorkers(s.images * panels, 1, [&](int worker, int64_t begin, int64_t end) {
      float* sums = scratch + s.workers_offset + worker * s.worker_floats;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / panels, panel = i % panels;
        Multiply(context, s, panel, scratch + s.patches_offset + image * s.image_patches, sums);
        Store(context, s, image, panel, sums);
      }
    });
  }

 private:
  static const DilatedPlan::Region& RegionOf(const DilatedState& s,
                                             const DilatedPlan::Reach& reach) {
    return s.regions[static_cast<size_t>(reach.region)];
  }
  int64_t TilesOf(const DilatedPlan::Region& region) const {
    return CeilDiv(region.outputs(), tiles_.tile_rows);
  }

  // Copies what a tap reads for the outputs of a region, tile after tile, as [channels][outputs].
  void Pack(const DilatedState& s, const DilatedPlan::Reach& reach, const float* planes,
            float* patches) const {
    const DilatedPlan::Region& region = RegionOf(s, reach);
    const PatchWindow& w = s.window;
    const int64_t none = 0;
    PatchSource source;
    source.planes = planes + TapOffset(w, reach.tap / w.kernel_w, reach.tap % w.kernel_w) +
                    region.row * PlaneWidth(w) + region.column;
    source.has_slack = true;
    source.channel = s.plane_floats();
    source.tap_offsets = &none;
    source.out_w = region.columns;
    source.row = PlaneWidth(w);
    const int64_t tiles = TilesOf(region);
    for (int64_t i = 0; i < tiles; ++i) {
      const RowRange rows = RowsOfTile(region.outputs(), tiles, i);
      patches_.pack_patches(source, rows.begin, rows.count, 0, s.channels, rows.count, 0,
                            patches + (reach.patches + rows.begin) * s.channels);
    }
  }

  void Multiply(const RunContext& context, const DilatedState& s, int64_t panel,
                const float* patches, float* sums) const {
    const int64_t width = tiles_.tile_cols, filter = panel * width;
    GemmTile tile;
    tile.cols = static_cast<int>(std::min(width, s.filters - filter));
    tile.b_k = tile.c_row = width;
    tile.b_padded = true;
    tile.a_row = 1;
    if (context.has_input(2)) tile.bias_of_column = context.in<float>(2) + filter;
    for (auto begin = s.reaches.begin(); begin != s.reaches.end();) {
      const auto end = std::find_if(begin, s.reaches.end(),
                                    [&](const auto& reach) { return reach.tap != begin->tap; });
      const float* w =
          packed_.data<float>() + (panel * s.filter_taps + begin->filter_tap) * s.channels * width;
      for (int64_t k0 = 0; k0 < s.channels; k0 += kMaxBlockOfK) {
        tile.k = std::min(kMaxBlockOfK, s.channels - k0);
        tile.b = w + k0 * width;
        for (auto reach = begin; reach != end; ++reach)
          MultiplyReach(s, *reach, k0, patches, sums, tile);
      }
      begin = end;
    }
  }

  void MultiplyReach(const DilatedState& s, const DilatedPlan::Reach& reach, int64_t k0,
                     const float* patches, float* sums, GemmTile& tile) const {
    const DilatedPlan::Region& region = RegionOf(s, reach);
    const int64_t tiles = TilesOf(region), block = tile.k * tile.b_k;
    tile.accumulate = !reach.starts || k0 > 0;
    for (int64_t i = 0; i < tiles; ++i) {
      const RowRange rows = RowsOfTile(region.outputs(), tiles, i);
      tile.rows = rows.count;
      tile.a_k = rows.count;
      tile.a = patches + (reach.patches + rows.begin) * s.channels + k0 * rows.count;
      tile.c = sums + (region.first + rows.begin) * tile.c_row;
      // The weights that follow lie behind these.
      tile.fetch.TakePart(tile.b + block, block, i, tiles, tile.k);
      tiles_.tile(tile);
    }
  }

  void Store(const RunContext& context, const DilatedState& s, int64_t image, int64_t panel,
             const float* sums) const {
    const int64_t width = tiles_.tile_cols, filter = panel * width;
    const int cols = static_cast<int>(std::min(width, s.filters - filter));
    const int64_t plane = (image * s.filters + filter) * s.outputs;
    const float* residual = context.has_input(3) ? context.in<float>(3) : nullptr;
    for (const DilatedPlan::Region& region : s.regions) {
      for (int64_t row = 0; row < region.rows; ++row) {
        const int64_t at = plane + (region.row + row) * s.window.out_w + region.column;
        patches_.store_transposed(sums + (region.first + row * region.columns) * width, width,
                                  static_cast<int>(region.columns), cols,
                                  residual == nullptr ? nullptr : residual + at, activation_,
                                  context.out<float>(0) + at, s.outputs);
      }
    }
  }

  const GemmTileKernels& tiles_;
  const ConvTileKernels& patches_;
  ActivationSpec activation_;
  Tensor packed_;
};

// W [filters, channels, taps...] as [panel][tap][channel][filter of the panel].
absl::StatusOr<Tensor> PackByTaps(const GemmTileKernels& tiles, const Tensor& w) {
  const int64_t filters = w.dims()[0], channels = w.dims()[1], width = tiles.tile_cols;
  const int64_t taps = w.dims()[2] * w.dims()[3];
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, Tensor::Create(DType::kFloat32, {CeilDiv(filters, width),
                                                                          taps, channels, width}));
  float* to = packed.mutable_data<float>();
  const float* from = w.data<float>();
  for (int64_t filter = 0; filter < CeilDiv(filters, width) * width; filter += width) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < channels; ++c, to += width) {
        for (int64_t i = 0; i < width; ++i) {
          const bool is_filter = filter + i < filters;
          to[i] = is_filter ? from[((filter + i) * channels + c) * taps + tap] : 0.0f;
        }
      }
    }
  }
  return packed;
}

// Without dilation the parts are too small to fill tiles.
bool IsDilated(const WindowAxes& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [](const WindowAxis& axis) { return axis.dilation > 1; });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDilated(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const Tensor* w = spec.constant(1);
  if (w == nullptr || w->rank() != 4 || w->num_elements() == 0)
    return absl::UnimplementedError("constant weights of two spatial axes only");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const std::optional<ConvGeometry> g = KnownGeometry(spec, attributes);
  if (!g || g->axes.size() != 2 || g->group != 1)
    return absl::UnimplementedError("one group, and sizes known when compiling only");
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  if (!PrefersDilated(tiles, *g))
    return absl::UnimplementedError("small images whose taps meet padding for the most part only");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  if (spec.only_asks()) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<ConvAlgorithm> algorithm,
                          DilatedProducts(tiles, activation, *w));
  spec.ReleaseConstant(1);
  return ConvKernel(std::move(attributes), std::move(algorithm));
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "dilated_conv", MakeDilated, kVectorTargets},
    {"onward", "FusedConv", "fused_dilated_conv", MakeDilated, kVectorTargets},
};

}  // namespace

bool PrefersDilated(const GemmTileKernels& tiles, const ConvGeometry& g) {
  return g.axes.size() == 2 && g.group == 1 && g.output_size() > 0 && IsDilated(g.axes) &&
         g.kernel_size() <= kMaxTaps && ChooseConvForm(tiles, g) == ConvForm::kChannelLanes &&
         SavesProducts(PlanDilated(g));
}

ConvAlgorithmOr DilatedProducts(const GemmTileKernels& tiles, ActivationSpec activation,
                                const Tensor& w) {
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, PackByTaps(tiles, w));
  return std::make_unique<Dilated>(tiles, activation, std::move(packed));
}

KernelList DilatedConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
