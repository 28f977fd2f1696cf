// The gradients of convolutions with a filter per channel, in float32, by image (ConvTranspose) and
// by weights (onward.ConvWeightGradient): the channels of one pixel form a vector.
#include <algorithm>

#include "kernels/bind/conv_gradient.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/depthwise_bands.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/saved_floats.h"
#include "kernels/cpu/simd/depthwise_tile.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kLeastChunks = 32;

// Bands of rows, vectors of channels, images.
struct BandPlan {
  PatchWindow window;
  int64_t channels = 0, batch = 0;
  int64_t vectors = 0;
  RowBands bands;
  int64_t image_groups = 1;    // whose sums are added up at the end
  int64_t widened_floats = 0;  // of a worker: what a vector reads of a narrow image

  int64_t x_size() const { return channels * window.in_h * window.in_w; }
  int64_t y_size() const { return channels * window.out_h * window.out_w; }
  int64_t totals(int64_t lanes) const { return vectors * image_groups * window.taps() * lanes; }
};

DepthwiseGradientBand BandOf(const BandPlan& plan, int64_t vector, int64_t band, int64_t rows,
                             int lanes) {
  DepthwiseGradientBand b;
  b.window = plan.window;
  b.filter = vector * lanes;
  b.filters = static_cast<int>(std::min<int64_t>(lanes, plan.channels - b.filter));
  b.row_begin = band * plan.bands.rows;
  b.row_end = std::min(rows, b.row_begin + plan.bands.rows);
  return b;
}

class DepthwiseConvTranspose : public Kernel {
 public:
  DepthwiseConvTranspose(const DepthwiseKernels& kernels, ConvTransposeAttributes attributes)
      : kernels_(kernels), attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvTransposeDims(attributes_, context));
    context.SetOutput(0, g.output);
    auto* plan = context.NewState<BandPlan>();
    plan->window = WindowOf(g.axes);
    plan->channels = g.channels;
    plan->batch = NumElements(g.output) == 0 ? 0 : g.batch;
    if (plan->batch == 0) return absl::OkStatus();
    plan->vectors = CeilDiv(plan->channels, kernels_.lanes);
    plan->bands = CutBands(plan->window.in_h, kernels_.lanes, [&](int64_t rows) {
      return SpreadScratch(plan->window, kernels_.lanes, rows);
    });
    context.SetScratch(plan->bands.worker_floats * context.num_workers() *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<BandPlan>();
    const PatchWindow& w = plan.window;
    const int64_t products = plan.bands.rows * w.in_w * w.taps() * kernels_.lanes;
    context.ParallelForWorkers(
        plan.batch * plan.vectors * plan.bands.count, CeilDiv(kMinChunkProducts, products + 1),
        [&](int worker, int64_t begin, int64_t end) {
          float* scratch = context.scratch<float>() + worker * plan.bands.worker_floats;
          for (int64_t i = begin; i < end; ++i) {
            DepthwiseGradientBand band = BandOf(plan, i / plan.bands.count % plan.vectors,
                                                i % plan.bands.count, w.in_h, kernels_.lanes);
            const int64_t image = i / (plan.bands.count * plan.vectors);
            band.dy = context.in<float>(0) + image * plan.y_size();
            band.w = context.in<float>(1);
            band.bias = context.has_input(2) ? context.in<float>(2) : nullptr;
            band.dx = context.out<float>(0) + image * plan.x_size();
            kernels_.spread(band, scratch);
          }
        });
    return absl::OkStatus();
  }

 private:
  const DepthwiseKernels& kernels_;
  ConvTransposeAttributes attributes_;
};

class DepthwiseWeightGradient : public Kernel {
 public:
  DepthwiseWeightGradient(const DepthwiseKernels& kernels, ConvWeightAttributes attributes,
                          bool narrow)
      : kernels_(kernels), attributes_(std::move(attributes)), narrow_(narrow) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0), dy = context.input_dims(1);
    ONWARD_ASSIGN_OR_RETURN(const WindowAxes axes, attributes_.Axes(x, dy));
    context.SetOutput(0, attributes_.OutputDims(x, dy));
    auto* plan = context.NewState<BandPlan>();
    plan->window = WindowOf(axes);
    plan->channels = x[1];
    plan->batch = NumElements(x) == 0 || NumElements(dy) == 0 ? 0 : x[0];
    if (plan->batch == 0) return absl::OkStatus();
    plan->vectors = CeilDiv(plan->channels, kernels_.lanes);
    plan->bands = CutBands(plan->window.out_h, kernels_.lanes, [&](int64_t rows) {
      return ProductsScratch(plan->window, kernels_.lanes, rows);
    });
    if (narrow_) plan->widened_floats = kernels_.lanes * plan->window.in_h * plan->window.in_w;
    plan->image_groups = std::min(plan->batch, CeilDiv(kLeastChunks, plan->vectors));
    context.SetScratch(plan->totals(kernels_.lanes) * static_cast<int64_t>(sizeof(double)) +
                       (plan->bands.worker_floats + plan->widened_floats) * context.num_workers() *
                           static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<BandPlan>();
    float* dw = context.out<float>(0);
    std::fill_n(dw, context.output(0).num_elements(), 0.0f);
    if (plan.batch == 0) return absl::OkStatus();
    auto* totals = context.scratch<double>();
    auto* bands = reinterpret_cast<float*>(totals + plan.totals(kernels_.lanes));
    const int64_t floats = plan.bands.worker_floats + plan.widened_floats;
    const int64_t chunks = plan.vectors * plan.image_groups;
    const int64_t products = plan.y_size() * plan.window.taps() * plan.batch / chunks;
    context.ParallelForWorkers(chunks, CeilDiv(kMinChunkProducts, products + 1),
                               [&](int worker, int64_t begin, int64_t end) {
                                 for (int64_t i = begin; i < end; ++i)
                                   SumChunk(context, plan, i, totals, bands + worker * floats);
                               });
    AddUp(plan, totals, dw);
    return absl::OkStatus();
  }

 private:
  // One vector of channels of one group of images.
  void SumChunk(const RunContext& context, const BandPlan& plan, int64_t chunk, double* all,
                float* scratch) const {
    const int64_t vector = chunk / plan.image_groups, group = chunk % plan.image_groups;
    const int64_t size = plan.window.taps() * kernels_.lanes;
    double* totals = all + chunk * size;
    std::fill_n(totals, size, 0.0);
    const int64_t end = plan.batch * (group + 1) / plan.image_groups;
    const SavedFloats x(context.input(0));
    const int64_t channel = vector * kernels_.lanes;
    const int64_t x_plane = plan.window.in_h * plan.window.in_w;
    const int64_t y_plane = plan.window.out_h * plan.window.out_w;
    for (int64_t image = plan.batch * group / plan.image_groups; image < end; ++image) {
      const int64_t channels = std::min<int64_t>(kernels_.lanes, plan.channels - channel);
      const float* planes = x.Read(image * plan.x_size() + channel * x_plane, channels * x_plane,
                                   scratch + plan.bands.worker_floats);
      for (int64_t b = 0; b < plan.bands.count; ++b) {
        DepthwiseGradientBand band = BandOf(plan, vector, b, plan.window.out_h, kernels_.lanes);
        band.filter = 0;  // of those that the pointers begin with
        band.x = planes;
        band.dy = context.in<float>(1) + image * plan.y_size() + channel * y_plane;
        band.totals = totals;
        kernels_.sum_products(band, scratch);
      }
    }
  }

  void AddUp(const BandPlan& plan, const double* totals, float* dw) const {
    const int64_t lanes = kernels_.lanes, taps = plan.window.taps();
    for (int64_t c = 0; c < plan.channels; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        double sum = 0;
        for (int64_t g = 0; g < plan.image_groups; ++g)
          sum += totals[((c / lanes * plan.image_groups + g) * taps + tap) * lanes + c % lanes];
        dw[c * taps + tap] = static_cast<float>(sum);
      }
    }
  }

  const DepthwiseKernels& kernels_;
  ConvWeightAttributes attributes_;
  bool narrow_;  // X is
};

constexpr char kOthers[] = "one or two spatial axes and a filter per channel, known when compiling";

absl::StatusOr<std::unique_ptr<Kernel>> MakeTranspose(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(ConvTransposeAttributes attributes, ConvTransposeAttributes::Parse(spec));
  const std::optional<Dims> w = spec.input_type(1).static_dims();
  if (!w || w->size() < 3 || w->size() > 4 || (*w)[1] != 1 || attributes.conv.group == 1 ||
      (*w)[0] != attributes.conv.group)
    return absl::UnimplementedError(kOthers);
  return std::make_unique<DepthwiseConvTranspose>(kDepthwisePerTarget.For(TargetOf(spec))(),
                                                  std::move(attributes));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWeightGradient(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec, 0));
  ONWARD_ASSIGN_OR_RETURN(ConvWeightAttributes attributes, ConvWeightAttributes::Parse(spec));
  const auto &x = spec.input_type(0).shape, &dy = spec.input_type(1).shape;
  const Dim group(attributes.group);
  if (!x || !dy || x->size() < 3 || dy->size() < 3 || attributes.group == 1 || (*x)[1] != group ||
      (*dy)[1] != group)
    return absl::UnimplementedError(kOthers);
  return std::make_unique<DepthwiseWeightGradient>(kDepthwisePerTarget.For(TargetOf(spec))(),
                                                   std::move(attributes),
                                                   IsSavedNarrow(spec.input_dtype(0)));
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvTranspose", "depthwise_conv_transpose", MakeTranspose, kVectorTargets},
    {"onward", "ConvWeightGradient", "depthwise_weight_gradient", MakeWeightGradient,
     kVectorTargets},
};

}  // namespace

KernelList DepthwiseGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
