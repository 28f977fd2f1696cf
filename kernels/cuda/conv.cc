// Conv and onward.FusedConv of floats in one or two dims through cuDNN, NCHW.
#include "kernels/bind/conv.h"

#include <algorithm>

#include "kernels/bind/activation.h"
#include "kernels/cuda/conv_graph.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/image_axes.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

struct State {
  ConvSizes sizes;
  const CudnnPlan* plan = nullptr;
  ConvEnd end;  // that the plan has
};

class Conv : public Kernel {
 public:
  Conv(ConvAttributes attributes, const ActivationSpec& activation, DType dtype,
       Precision precision)
      : attributes_(std::move(attributes)),
        activation_(activation),
        dtype_(dtype),
        precision_(precision) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, context));
    State* state = context.NewState<State>();
    state->sizes = {g.batch, g.channels, g.filters, g.group, {RowsOf(g.axes), g.axes.back()}};
    context.SetOutput(0, g.output);
    ONWARD_RETURN_IF_ERROR(CheckResidual(context, g.output));
    if (NumElements(g.output) == 0) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(CheckConvSizes(state->sizes));
    state->end = {context.has_input(2), context.has_input(3),
                  activation_.kind == Activation::kRelu};
    ONWARD_RETURN_IF_ERROR(Plan(state));
    context.SetScratch(state->plan->workspace());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const State& state = context.state<State>();
    cudaStream_t stream = StreamOf(context);
    void* y = context.output(0).data;
    std::vector<const void*> memory = {context.input(0).data, context.input(1).data};
    if (state.end.bias) memory.push_back(context.input(2).data);
    if (state.end.residual) memory.push_back(context.input(3).data);
    memory.push_back(y);
    ONWARD_RETURN_IF_ERROR(state.plan->Run(memory, context.scratch<void>(), stream));
    Epilogue epilogue;
    if (!state.end.relu) epilogue.activation = activation_;
    epilogue.channels = state.sizes.filters;
    epilogue.inner = state.sizes.axes[0].output * state.sizes.axes[1].output;
    if (context.has_input(2) && !state.end.bias) epilogue.bias = context.input(2).data;
    if (context.has_input(3) && !state.end.residual) epilogue.residual = context.input(3).data;
    return RunEpilogue(epilogue, dtype_, y, context.output(0).num_elements(), stream);
  }

 private:
  // With bias, residual and activation in one kernel, where cuDNN has one.
  absl::Status Plan(State* state) const {
    const PlanDemands demands = ConvDemands(dtype_, precision_);
    if (!state->end.is_nothing()) {
      const auto fused = PlanGraph(ConvGraph(state->sizes, dtype_, state->end), demands);
      if (fused.ok()) {
        state->plan = *fused;
        return absl::OkStatus();
      }
      if (!absl::IsUnimplemented(fused.status())) return fused.status();
    }
    state->end = {};
    ONWARD_ASSIGN_OR_RETURN(state->plan,
                            PlanGraph(ConvGraph(state->sizes, dtype_, state->end), demands));
    return absl::OkStatus();
  }

  ConvAttributes attributes_;
  ActivationSpec activation_;
  DType dtype_;
  Precision precision_;
};

bool FitsInt(int64_t value) { return value >= 0 && value <= INT32_MAX; }

absl::StatusOr<std::unique_ptr<Kernel>> MakeConv(const NodeSpec& spec) {
  const std::optional<SymbolicDims>& w = spec.input_type(1).shape;
  if (!w || (w->size() != 3 && w->size() != 4))
    return absl::UnimplementedError("only 1-D and 2-D convolutions");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const WindowAttributes& window = attributes.window;
  for (const Dims& values : {window.strides, window.dilations, window.pads})
    if (!std::all_of(values.begin(), values.end(), FitsInt))
      return absl::UnimplementedError("strides, dilations or pads of 2^31 and more");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  return std::make_unique<Conv>(std::move(attributes), activation, spec.input_dtype(0),
                                spec.options().precision);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "FusedConv", "fused_conv_cudnn", MakeConv},
    {"", "Conv", "conv_cudnn", MakeConv},
};

}  // namespace

KernelList ConvKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
