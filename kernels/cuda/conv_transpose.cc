// ConvTranspose over one or two axes: the gradient of a convolution by its images, through cuDNN
// where it has the numbers, else with a thread for each output.
#include "kernels/bind/conv.h"
#include "kernels/cuda/conv_graph.h"
#include "kernels/cuda/conv_transpose_taps.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/image_axes.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

struct ConvTransposeState {
  const CudnnPlan* plan = nullptr;  // null: the loop over taps
  GatherPlan taps;
  int64_t filters = 0, pixels = 0;  // of Y
};

class ConvTranspose : public Kernel {
 public:
  ConvTranspose(LaunchTaps launch, ConvTransposeAttributes attributes, DType dtype,
                Precision precision)
      : launch_(launch),
        attributes_(std::move(attributes)),
        dtype_(dtype),
        demands_(ConvDemands(dtype, precision)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvTransposeDims(attributes_, context));
    if (g.axes.size() > 2) return absl::UnimplementedError("more than two spatial axes");
    context.SetOutput(0, g.output);
    auto* state = context.NewState<ConvTransposeState>();
    state->taps = {TransposedAxisOf(RowsOf(g.axes)),
                   TransposedAxisOf(g.axes.back()),
                   NumElements(g.output),
                   g.group,
                   g.channels / g.group,
                   g.filters / g.group};
    state->filters = g.filters;
    state->pixels = g.input_size();
    if (state->taps.count == 0) return absl::OkStatus();
    const absl::StatusOr<const CudnnPlan*> plan = PlanOf(g);
    if (plan.ok()) {
      state->plan = *plan;
      context.SetScratch(state->plan->workspace());
    }
    return plan.ok() || absl::IsUnimplemented(plan.status()) ? absl::OkStatus() : plan.status();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<ConvTransposeState>();
    if (state.taps.count == 0) return absl::OkStatus();
    if (state.plan == nullptr) return launch_(context, state.taps);
    cudaStream_t stream = StreamOf(context);
    const void* const memory[] = {context.input(0).data, context.input(1).data,
                                  context.output(0).data};
    ONWARD_RETURN_IF_ERROR(state.plan->Run(memory, context.scratch<void>(), stream));
    if (!context.has_input(2)) return absl::OkStatus();
    Epilogue epilogue;
    epilogue.channels = state.filters;
    epilogue.inner = state.pixels;
    epilogue.bias = context.input(2).data;
    return RunEpilogue(epilogue, dtype_, context.output(0).data, state.taps.count, stream);
  }

 private:
  absl::StatusOr<const CudnnPlan*> PlanOf(const ConvGeometry& g) const {
    const ConvSizes sizes = {
        g.batch, g.filters, g.channels, g.group, {RowsOf(g.axes), g.axes.back()}};
    ONWARD_RETURN_IF_ERROR(CheckConvSizes(sizes));
    for (const WindowAxis& axis : sizes.axes) {
      const int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.extent();
      if (room < 0 || room / axis.stride + 1 != axis.output)
        return absl::UnimplementedError("a convolution of the result would not give the input");
    }
    return PlanGraph(ConvImageGradientGraph(sizes, dtype_), demands_);
  }

  LaunchTaps launch_;
  ConvTransposeAttributes attributes_;
  DType dtype_;
  PlanDemands demands_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvTranspose(const NodeSpec& spec) {
  const auto &x = spec.input_type(0).shape, &w = spec.input_type(1).shape;
  const size_t rank = w ? w->size() : x ? x->size() : 0;
  if (rank != 3 && rank != 4)
    return absl::UnimplementedError("only one or two spatial axes, known when the kernel is made");
  ONWARD_ASSIGN_OR_RETURN(ConvTransposeAttributes attributes, ConvTransposeAttributes::Parse(spec));
  const LaunchTaps launch = TapsOf(spec.input_dtype(0));
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<ConvTranspose>(launch, std::move(attributes), spec.input_dtype(0),
                                         spec.options().precision);
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvTranspose", "conv_transpose_cudnn", MakeConvTranspose},
};

}  // namespace

KernelList ConvTransposeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
