// Conv and onward.FusedConv in float32 where each filter reads one channel: images cut into bands
// of rows. Lanes are filters where rows are narrow, else the outputs of a row.
#include <algorithm>

#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/depthwise_bands.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/depthwise_rows.h"
#include "kernels/cpu/simd/depthwise_tile.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kLeastRowsBands = 4;
constexpr int64_t kRowsBandFloats = 6 * 1024;  // of planes: stay in the first-level cache

struct DepthwiseState {
  PatchWindow window;
  int64_t filters = 0;
  int64_t filters_per_channel = 1;
  int64_t channels = 0;
  int64_t batch = 0;
  const int64_t* tap_offsets = nullptr;  // where lanes are the outputs of a row
  int64_t vectors = 0;                   // of filters; where lanes are outputs, the filters
  RowBands bands;
  int64_t grain = 1;
};

class DepthwiseConv : public Kernel {
 public:
  DepthwiseConv(Target target, ConvAttributes attributes, ActivationSpec activation)
      : kernels_(kDepthwisePerTarget.For(target)()),
        rows_(kDepthwiseRowsPerTarget.For(target)()),
        attributes_(std::move(attributes)),
        activation_(activation) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, context));
    ONWARD_RETURN_IF_ERROR(CheckResidual(context, g.output));
    context.SetOutput(0, g.output);
    DepthwiseState* state = context.NewState<DepthwiseState>();
    state->window = WindowOf(g.axes);
    state->filters = g.filters;
    state->channels = g.channels;
    state->batch = g.output_size() == 0 ? 0 : g.batch;
    if (state->batch > 0 && g.filters > 0) {
      state->filters_per_channel = g.filters / g.channels;
      HasWideRows(state->window) ? CutRows(context, *state) : CutFilters(*state);
    }
    context.SetScratch(state->bands.worker_floats * context.num_workers() *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const DepthwiseState& state = context.state<DepthwiseState>();
    context.ParallelForWorkers(
        state.batch * state.vectors * state.bands.count, state.grain,
        [&](int worker, int64_t begin, int64_t end) {
          float* scratch = context.scratch<float>() + worker * state.bands.worker_floats;
          for (int64_t i = begin; i < end; ++i) {
            const int64_t image = i / (state.bands.count * state.vectors);
            const int64_t band = i / state.vectors % state.bands.count, at = i % state.vectors;
            state.tap_offsets != nullptr ? RunRows(context, state, image, at, band, scratch)
                                         : RunFilters(context, state, image, at, band, scratch);
          }
        });
    return absl::OkStatus();
  }

 private:
  // Narrow rows leave lanes empty, and with strides a channel's planes cost more than to turn
  // pixels into vectors of channels.
  bool HasWideRows(const PatchWindow& w) const {
    return w.stride_h == 1 && w.stride_w == 1 && w.out_w >= 3 * rows_.lanes;
  }

  void CutFilters(DepthwiseState& state) const {
    const PatchWindow& w = state.window;
    const int64_t lanes = kernels_.lanes;
    state.vectors = CeilDiv(state.filters, lanes);
    state.bands =
        CutBands(w.out_h, lanes, [&](int64_t rows) { return DepthwiseScratch(w, lanes, rows); });
    state.grain = CeilDiv(kMinChunkProducts, state.bands.rows * w.out_w * w.taps() * lanes);
  }

  void CutRows(BindContext& context, DepthwiseState& state) const {
    const PatchWindow& w = state.window;
    state.vectors = state.filters;
    const auto scratch = [&](int64_t rows) {
      PatchWindow band = w;
      band.out_h = rows;
      return DepthwiseRowsScratch(band);
    };
    // Several bands even of small images: other convolutions of large maps are cut by pixels, too,
    // and leave in the thread's own cache what it reads here.
    const int64_t share = scratch(CeilDiv(w.out_h, kLeastRowsBands));
    state.bands = CutBands(w.out_h, rows_.lanes, scratch, std::min(kRowsBandFloats, share));
    state.grain = CeilDiv(kMinChunkProducts, state.bands.rows * w.out_w * w.taps());
    PatchWindow band = w;
    band.out_h = state.bands.rows;
    state.tap_offsets = KeepTapOffsets(context, band);
  }

  struct Inputs {
    const float* x;  // of the image
    const float* w;
    const float* bias;      // or null
    const float* residual;  // of the image, or null
    float* y;               // of the image
  };
  static Inputs InputsOf(const RunContext& context, const DepthwiseState& state, int64_t image) {
    const PatchWindow& w = state.window;
    const int64_t output = image * state.filters * w.out_h * w.out_w;
    return {context.in<float>(0) + image * state.channels * w.in_h * w.in_w, context.in<float>(1),
            context.has_input(2) ? context.in<float>(2) : nullptr,
            context.has_input(3) ? context.in<float>(3) + output : nullptr,
            context.out<float>(0) + output};
  }

  void RunFilters(const RunContext& context, const DepthwiseState& state, int64_t image,
                  int64_t vector, int64_t at, float* scratch) const {
    const Inputs in = InputsOf(context, state, image);
    DepthwiseBand band;
    band.window = state.window;
    band.filters_per_channel = state.filters_per_channel;
    band.x = in.x, band.w = in.w, band.bias = in.bias, band.residual = in.residual;
    band.activation = activation_;
    band.y = in.y;
    band.filter = vector * kernels_.lanes;
    band.filters = static_cast<int>(std::min<int64_t>(kernels_.lanes, state.filters - band.filter));
    band.row_begin = at * state.bands.rows;
    band.row_end = std::min(state.window.out_h, band.row_begin + state.bands.rows);
    kernels_.run(band, scratch);
  }

  void RunRows(const RunContext& context, const DepthwiseState& state, int64_t image,
               int64_t filter, int64_t at, float* scratch) const {
    const Inputs in = InputsOf(context, state, image);
    const PatchWindow& w = state.window;
    const int64_t begin = at * state.bands.rows, output = (filter * w.out_h + begin) * w.out_w;
    DepthwiseRowsBand band;
    band.window = w;
    band.window.out_h = state.bands.rows;
    band.window.pad_top -= begin * w.stride_h;
    band.rows = std::min(state.bands.rows, w.out_h - begin);
    band.x = in.x + filter / state.filters_per_channel * w.in_h * w.in_w;
    band.w = in.w + filter * w.taps();
    band.tap_offsets = state.tap_offsets;
    if (in.bias != nullptr) band.bias = in.bias[filter];
    if (in.residual != nullptr) band.residual = in.residual + output;
    band.activation = activation_;
    band.y = in.y + output;
    rows_.run(band, scratch);
  }

  const DepthwiseKernels& kernels_;
  const DepthwiseRowsKernels& rows_;
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
  return std::make_unique<DepthwiseConv>(TargetOf(spec), std::move(attributes), activation);
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "depthwise_conv", MakeDepthwise, kVectorTargets},
    {"onward", "FusedConv", "fused_depthwise_conv", MakeDepthwise, kVectorTargets},
};

}  // namespace

KernelList DepthwiseConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
