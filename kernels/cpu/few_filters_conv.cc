// Conv and onward.FusedConv in float32 with so few filters that they would leave the lanes of
// vectors empty: pixels lie along the vectors, and are read where they lie in a padded copy of the
// image.
#include <algorithm>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/few_filters.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kSplitGrain = 16 * 1024;      // floats of planes: about 5 us
constexpr int64_t kChunkProducts = 300 * 1000;  // about 2 us
constexpr int64_t kMinDepth = 16;               // products of an output that the copy is worth

struct FewFiltersState {
  PatchWindow window;
  const int64_t* tap_offsets = nullptr;
  int64_t images = 0, groups = 1;     // batch x groups
  int64_t channels = 0, filters = 0;  // of a group
  int64_t plane_floats = 0;           // of a channel
  int64_t grain = 1;                  // output rows of a chunk
};

class FewFiltersConv : public ConvAlgorithm {
 public:
  FewFiltersConv(const GemmTileKernels& tiles, ActivationSpec activation, Tensor w)
      : patches_(kConvTilesPerTarget.For(tiles.target)()),
        products_(kFewFiltersPerTarget.For(tiles.target)()),
        activation_(activation),
        w_(std::move(w)) {}

  const void* Bind(BindContext& context, const ConvGeometry& g) const override {
    auto* s = context.NewArray<FewFiltersState>(1);
    s->window = WindowOf(g.axes);
    s->tap_offsets = KeepTapOffsets(context, s->window);
    s->groups = g.group, s->images = g.output_size() == 0 ? 0 : g.batch * g.group;
    s->channels = g.channels / g.group, s->filters = g.filters / g.group;
    s->plane_floats = ChannelPlanes(s->window);
    const int64_t row = s->window.out_w * s->filters * s->channels * s->window.taps();
    s->grain = std::max<int64_t>(1, kChunkProducts / std::max<int64_t>(1, row));
    context.SetScratch((s->images * s->channels * s->plane_floats + 2 * kPatchSlack) *
                       static_cast<int64_t>(sizeof(float)));
    return s;
  }

  void Run(RunContext& context, const void* state) const override {
    const FewFiltersState& s = *static_cast<const FewFiltersState*>(state);
    const PatchWindow& w = s.window;
    float* planes = context.scratch<float>() + kPatchSlack;
    const float* x = context.in<float>(0);
    context.ParallelFor(
        s.images * s.channels, CeilDiv(kSplitGrain, std::max<int64_t>(1, s.plane_floats)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            patches_.split_channel(w, x + i * w.in_h * w.in_w, planes + i * s.plane_floats);
          }
        });
    context.ParallelFor(s.images * w.out_h, s.grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) RunRow(context, s, planes, i / w.out_h, i % w.out_h);
    });
  }

 private:
  void RunRow(const RunContext& context, const FewFiltersState& s, const float* planes,
              int64_t image, int64_t y) const {
    const int64_t out_floats = s.window.out_h * s.window.out_w, group = image % s.groups,
                  depth = s.channels * s.window.taps();
    FewFiltersRow row;
    row.pixels = s.window.out_w;
    row.x = planes + image * s.channels * s.plane_floats + y * PlaneWidth(s.window);
    row.channels = s.channels;
    row.channel_floats = s.plane_floats;
    row.taps = s.window.taps();
    row.tap_offsets = s.tap_offsets;
    row.filter_floats = out_floats;
    row.activation = activation_;
    for (int64_t first = 0; first < s.filters; first += kMaxFewFilters) {
      const int64_t filter = group * s.filters + first;
      const int64_t at = (image * s.filters + first) * out_floats + y * s.window.out_w;
      row.filters = static_cast<int>(std::min<int64_t>(kMaxFewFilters, s.filters - first));
      row.w = w_.data<float>() + filter * depth;
      if (context.has_input(2)) row.bias = context.in<float>(2) + filter;
      if (context.has_input(3)) row.residual = context.in<float>(3) + at;
      row.y = context.out<float>(0) + at;
      products_(row);
    }
  }

  const ConvTileKernels& patches_;
  const FewFiltersFunction products_;
  ActivationSpec activation_;
  Tensor w_;  // [filters, channels of a group, taps...]
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeFewFilters(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const Tensor* w = spec.constant(1);
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const std::optional<ConvGeometry> g = KnownGeometry(spec, attributes);
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  if (w == nullptr || !g || !PrefersFewFilters(tiles, *g)) {
    return absl::UnimplementedError(
        "constant filters, fewer than half of a vector, and sizes known when compiling only");
  }
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  return ConvKernel(std::move(attributes), FewFilterProducts(tiles, activation, *w));
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "few_filters_conv", MakeFewFilters, kVectorTargets},
    {"onward", "FusedConv", "fused_few_filters_conv", MakeFewFilters, kVectorTargets},
};

}  // namespace

bool PrefersFewFilters(const GemmTileKernels& tiles, const ConvGeometry& g) {
  if (g.axes.size() > 2 || g.output_size() == 0) return false;
  const int64_t m = g.filters / g.group, k = g.channels / g.group * g.kernel_size();
  const int64_t lanes = tiles.tile_cols / 2, width = g.axes.back().output;
  if (g.kernel_size() == 1 || k < kMinDepth || m == 0) return false;
  // Vectors of products of a row; others spend as many as there are lanes on each pixel.
  const int64_t vectors = CeilDiv(width, lanes) * std::max<int64_t>(2, m);
  return vectors * lanes * 5 < width * lanes * 3;
}

std::unique_ptr<ConvAlgorithm> FewFilterProducts(const GemmTileKernels& tiles,
                                                 ActivationSpec activation, Tensor w) {
  return std::make_unique<FewFiltersConv>(tiles, activation, std::move(w));
}

KernelList FewFiltersConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
