// Conv and onward.FusedConv in float32 where each filter reads one channel: images cut into bands
// of rows, filters into vectors.
#include <algorithm>

#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/depthwise_bands.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/depthwise_tile.h"

namespace onward::kernels::cpu {
namespace {

struct DepthwiseState {
  PatchWindow window;
  int64_t filters = 0;
  int64_t filters_per_channel = 1;
  int64_t channels = 0;
  int64_t batch = 0;
  int64_t vectors = 0;  // of filters
  RowBands bands;
  int64_t grain = 1;
};

class DepthwiseConv : public Kernel {
 public:
  DepthwiseConv(const DepthwiseKernels& kernels, ConvAttributes attributes,
                ActivationSpec activation)
      : kernels_(kernels), attributes_(std::move(attributes)), activation_(activation) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, context));
    ONWARD_RETURN_IF_ERROR(CheckResidual(context, g.output));
    context.SetOutput(0, g.output);
    DepthwiseState* state = context.NewState<DepthwiseState>();
    state->window = WindowOf(g.axes);
    state->filters = g.filters;
    state->channels = g.channels;
    state->batch = g.output_size() == 0 ? 0 : g.batch;
    if (state->batch > 0 && g.filters > 0) Cut(*state);
    context.SetScratch(state->bands.worker_floats * context.num_workers() *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const DepthwiseState& state = context.state<DepthwiseState>();
    const PatchWindow& w = state.window;
    const float* x = context.in<float>(0);
    const float* weights = context.in<float>(1);
    const float* bias = context.has_input(2) ? context.in<float>(2) : nullptr;
    const float* residual = context.has_input(3) ? context.in<float>(3) : nullptr;
    float* y = context.out<float>(0);
    const int64_t in_size = state.channels * w.in_h * w.in_w;
    const int64_t out_size = state.filters * w.out_h * w.out_w;
    DepthwiseBand all;
    all.window = w;
    all.filters_per_channel = state.filters_per_channel;
    all.w = weights;
    all.bias = bias;
    all.activation = activation_;
    context.ParallelForWorkers(
        state.batch * state.vectors * state.bands.count, state.grain,
        [&](int worker, int64_t begin, int64_t end) {
          float* scratch = context.scratch<float>() + worker * state.bands.worker_floats;
          for (int64_t i = begin; i < end; ++i) {
            const int64_t image = i / (state.bands.count * state.vectors);
            const int64_t at = i / state.vectors % state.bands.count;
            DepthwiseBand band = all;
            band.x = x + image * in_size;
            band.y = y + image * out_size;
            if (residual != nullptr) band.residual = residual + image * out_size;
            band.filter = i % state.vectors * kernels_.lanes;
            band.filters =
                static_cast<int>(std::min<int64_t>(kernels_.lanes, state.filters - band.filter));
            band.row_begin = at * state.bands.rows;
            band.row_end = std::min(w.out_h, band.row_begin + state.bands.rows);
            kernels_.run(band, scratch);
          }
        });
    return absl::OkStatus();
  }

 private:
  void Cut(DepthwiseState& state) const {
    const PatchWindow& w = state.window;
    const int64_t lanes = kernels_.lanes;
    state.filters_per_channel = state.filters / state.channels;
    state.vectors = CeilDiv(state.filters, lanes);
    state.bands =
        CutBands(w.out_h, lanes, [&](int64_t rows) { return DepthwiseScratch(w, lanes, rows); });
    const int64_t products = state.bands.rows * w.out_w * w.taps() * lanes;
    state.grain = CeilDiv(kMinChunkProducts, products);
  }

  const DepthwiseKernels& kernels_;
  ConvAttributes attributes_;
  ActivationSpec activation_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDepthwise(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const std::optional<Dims> w = spec.input_type(1).static_dims();
  if (!w || w->size() < 3 || w->size() > 4)
    return absl::UnimplementedError(
        "weights of one or two spatial axes only, known when compiling");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  if ((*w)[1] != 1 || attributes.group == 1)
    return absl::UnimplementedError("one channel per group only, of several groups");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  return std::make_unique<DepthwiseConv>(kDepthwisePerTarget.For(TargetOf(spec))(),
                                         std::move(attributes), activation);
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "depthwise_conv", MakeDepthwise, kVectorTargets},
    {"onward", "FusedConv", "fused_depthwise_conv", MakeDepthwise, kVectorTargets},
};

}  // namespace

KernelList DepthwiseConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
