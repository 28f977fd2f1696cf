// The gradient of convolutions of 3x3 taps by their filters in float32, by the transpose of
// Winograd's minimal filtering (simd/winograd.h): per frequency, the transformed tiles of dY times
// the transformed windows of X, summed over all tiles, are the frequencies of the filters.
#include <algorithm>

#include "kernels/bind/conv_gradient.h"
#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/winograd.h"
#include "kernels/cpu/winograd_plan.h"

namespace onward::kernels::cpu {
namespace {

// Windows and tiles that are there at once: they stay in a cache, but sums that take more than they
// do are not read for each part of them.
constexpr int64_t kMostFloats = 2 * 1024 * 1024;
constexpr int64_t kTransformTiles = 256;  // about 3 us
constexpr int64_t kLine = 16;             // floats
constexpr int64_t kStoredFloats = 16 * 1024;

struct WeightGradientState {
  WindowAxis rows, columns;
  int64_t batch, channels, filters;
  int64_t tiles_h, tiles_w;  // of an image
  int64_t images;            // at once
  // Floats from a plane's tiles to the next plane's: planes begin in different sets of the cache.
  int64_t step;
  GemmPlan plan, last_plan;  // a batch per frequency

  int64_t tiles() const { return tiles_h * tiles_w; }
};

class WinogradWeightGradient : public Kernel {
 public:
  WinogradWeightGradient(ConvWeightAttributes attributes, const GemmTileKernels& tiles, int64_t m)
      : attributes_(std::move(attributes)),
        tiles_(tiles),
        kernels_((m == 2 ? kWinograd2PerTarget : kWinograd4PerTarget).For(tiles.target)()),
        m_(m) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0), dy = context.input_dims(1);
    ONWARD_ASSIGN_OR_RETURN(const WindowAxes axes, attributes_.Axes(x, dy));
    context.SetOutput(0, attributes_.OutputDims(x, dy));
    auto* s = context.NewState<WeightGradientState>();
    s->rows = axes[0], s->columns = axes[1];
    s->batch = NumElements(x) * NumElements(dy) == 0 ? 0 : x[0];
    s->channels = x[1], s->filters = dy[1];
    if (s->batch == 0) return absl::OkStatus();
    s->tiles_h = CeilDiv(s->rows.output, m_), s->tiles_w = CeilDiv(s->columns.output, m_);
    const int64_t image_floats = frequencies() * (s->channels + s->filters) * s->tiles();
    const int64_t sums = frequencies() * s->channels * s->filters;
    const int64_t most = std::max(kMostFloats, sums) / image_floats;
    s->images = EvenPiece(s->batch, std::max<int64_t>(1, most));
    s->step = (CeilDiv(s->images * s->tiles(), 2 * kLine) * 2 + 1) * kLine;
    const auto plan = [&](int64_t images) {
      return PlanGemm(tiles_, ColumnsLayout::kTransposed, s->filters, s->channels,
                      images * s->tiles(), frequencies(), false);
    };
    s->plan = plan(s->images);
    s->last_plan = plan(s->batch - (CeilDiv(s->batch, s->images) - 1) * s->images);
    const int64_t floats = ProductsAt(*s) + sums + context.num_workers() * WorkerScratch(*s);
    context.SetScratch(floats * static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<WeightGradientState>();
    if (s.batch == 0) {
      std::fill_n(context.out<float>(0), context.output(0).num_elements(), 0.0f);
      return absl::OkStatus();
    }
    for (int64_t image = 0; image < s.batch; image += s.images) {
      const int64_t count = std::min(s.images, s.batch - image);
      const int64_t planes = (s.channels + s.filters) * count;
      context.ParallelFor(planes, std::max<int64_t>(1, kTransformTiles / s.tiles()),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i)
                              Transform(context, s, i / count, image + i % count, i % count);
                          });
      Multiply(context, s, image);
    }
    const float* sums = context.scratch<float>() + ProductsAt(s);
    context.ParallelFor(s.filters, CeilDiv(kStoredFloats, frequencies() * s.channels),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t f = begin; f < end; ++f)
                            kernels_.store_taps({sums + f * s.channels, s.filters * s.channels,
                                                 static_cast<int>(s.channels),
                                                 context.out<float>(0) + f * s.channels * 9});
                        });
    return absl::OkStatus();
  }

 private:
  int64_t frequencies() const { return (m_ + 2) * (m_ + 2); }

  // The scratch holds the windows of X, [frequency][channel][step], the tiles of dY,
  // [frequency][filter][step], the products, [frequency][filter][channel], and each worker's own.
  int64_t TilesAt(const WeightGradientState& s) const {
    return frequencies() * s.channels * s.step;
  }
  int64_t ProductsAt(const WeightGradientState& s) const {
    return TilesAt(s) + frequencies() * s.filters * s.step;
  }
  static int64_t WorkerScratch(const WeightGradientState& s) {
    return std::max(s.plan.scratch, s.last_plan.scratch);
  }

  // Transforms one image of a channel of X, or of a filter of dY: those come after the channels.
  void Transform(const RunContext& context, const WeightGradientState& s, int64_t plane,
                 int64_t image, int64_t at) const {
    const bool is_window = plane < s.channels;
    const int64_t filter = plane - s.channels;
    WinogradWindows w;
    w.in_h = is_window ? s.rows.input : s.rows.output;
    w.in_w = is_window ? s.columns.input : s.columns.output;
    w.x = is_window ? context.in<float>(0) + (image * s.channels + plane) * w.in_h * w.in_w
                    : context.in<float>(1) + (image * s.filters + filter) * w.in_h * w.in_w;
    w.step = (is_window ? s.channels : s.filters) * s.step;
    w.v = context.scratch<float>() + (is_window ? plane * s.step : TilesAt(s) + filter * s.step) +
          at * s.tiles();
    for (int64_t y = 0; y < s.tiles_h; ++y) {
      for (int64_t x = 0; x < s.tiles_w; x += w.tiles, w.v += w.tiles) {
        w.tiles = static_cast<int>(std::min<int64_t>(kMaxWinogradTiles, s.tiles_w - x));
        w.top = y * m_ - (is_window ? s.rows.pad_begin : 0);
        w.left = x * m_ - (is_window ? s.columns.pad_begin : 0);
        (is_window ? kernels_.transform_windows : kernels_.transform_pixels)(w);
      }
    }
  }

  // Adds the products of the images from `image` on.
  void Multiply(const RunContext& context, const WeightGradientState& s, int64_t image) const {
    const GemmPlan& plan = image + s.images < s.batch ? s.plan : s.last_plan;
    float* windows = context.scratch<float>();
    float* products = windows + ProductsAt(s);
    float* scratch = products + frequencies() * s.filters * s.channels;
    context.ParallelForWorkers(plan.chunks(), plan.grain,
                               [&](int worker, int64_t begin, int64_t end) {
                                 for (int64_t chunk = begin; chunk < end; ++chunk) {
                                   const int64_t f = chunk / plan.chunks_per_batch();
                                   GemmArguments args;
                                   args.a = windows + TilesAt(s) + f * s.filters * s.step;
                                   args.b = windows + f * s.channels * s.step;
                                   args.a_row = args.b_stride = s.step;
                                   args.c = products + f * s.filters * s.channels;
                                   args.c_row = args.residual_row = s.channels;
                                   if (image > 0) args.residual = args.c;
                                   RunGemmChunk(tiles_, plan, args, chunk % plan.chunks_per_batch(),
                                                scratch + worker * WorkerScratch(s));
                                 }
                               });
  }

  ConvWeightAttributes attributes_;
  const GemmTileKernels& tiles_;
  const WinogradKernels& kernels_;
  int64_t m_;
};

// The sizes of dY and the channels of X, where they are known.
std::optional<WinogradSizes> SizesOf(const NodeSpec& spec) {
  const auto &x = spec.input_type(0).shape, &dy = spec.input_type(1).shape;
  if (!x || !dy || x->size() != 4 || dy->size() != 4) return std::nullopt;
  for (const Dim& dim : {(*x)[1], (*dy)[1], (*dy)[2], (*dy)[3]})
    if (!dim.known()) return std::nullopt;
  return WinogradSizes{(*x)[1].value(), (*dy)[1].value(), (*dy)[2].value(), (*dy)[3].value(),
                       /*constant_filters=*/false};
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  if (spec.options().precision != Precision::kDefault)
    return absl::UnimplementedError("neither in strict nor in bfloat16 arithmetic");
  ONWARD_ASSIGN_OR_RETURN(ConvWeightAttributes attributes, ConvWeightAttributes::Parse(spec));
  if (!FitsWinograd(attributes.kernel, attributes.strides, attributes.dilations, attributes.group))
    return absl::UnimplementedError("3x3 taps, one group, strides and dilations of 1 only");
  const std::optional<WinogradSizes> sizes = SizesOf(spec);
  if (!sizes) return absl::UnimplementedError("known channels and images only");
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  const int64_t m = ChooseWinograd(tiles.tile_cols / 2, *sizes);
  if (m == 0) return absl::UnimplementedError("sums of products take less time for these sizes");
  return std::make_unique<WinogradWeightGradient>(std::move(attributes), tiles, m);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ConvWeightGradient", "winograd_conv_weight_gradient", Make, kVectorTargets},
};

}  // namespace

KernelList WinogradWeightGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
