// Conv and onward.FusedConv of floats in one or two dims through cuDNN, NCHW with symmetric
// padding.
#include "kernels/shapes/conv.h"

#include <algorithm>

#include "kernels/bind/activation.h"
#include "kernels/cuda/cudnn_conv.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/image_axes.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

struct State {
  ConvSizes sizes;
  cudnnConvolutionFwdAlgo_t algorithm;
  int64_t workspace = 0;
};

class Conv : public Kernel {
 public:
  Conv(ConvAttributes attributes, const ActivationSpec& activation, DType dtype,
       const KernelOptions& options)
      : attributes_(std::move(attributes)),
        activation_(activation),
        dtype_(dtype),
        precision_(options.precision),
        deterministic_(options.deterministic) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, context));
    State* state = context.NewState<State>();
    state->sizes = {g.batch, g.channels, g.filters, g.group, {RowsOf(g.axes), g.axes.back()}};
    context.SetOutput(0, g.output);
    ONWARD_RETURN_IF_ERROR(CheckResidual(context, g.output));
    if (NumElements(g.output) == 0) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(Choose(state));
    context.SetScratch(state->workspace);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const State& state = context.state<State>();
    ConvDescriptors d;
    ONWARD_RETURN_IF_ERROR(d.Init(state.sizes, dtype_, precision_));
    cudnnHandle_t handle;
    cudaStream_t stream = StreamOf(context);
    ONWARD_RETURN_IF_ERROR(GetCudnn(stream, &handle));
    const void *one = CudnnOne(dtype_), *zero = CudnnZero(dtype_);
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnConvolutionForward(
        handle, one, d.x.get(), context.input(0).data, d.w.get(), context.input(1).data,
        d.conv.get(), state.algorithm, context.scratch<void>(),
        static_cast<size_t>(state.workspace), zero, d.y.get(), context.output(0).data)));
    Epilogue epilogue;
    epilogue.activation = activation_;
    epilogue.channels = state.sizes.filters;
    epilogue.inner = state.sizes.axes[0].output * state.sizes.axes[1].output;
    if (context.has_input(2)) epilogue.bias = context.input(2).data;
    if (context.has_input(3)) epilogue.residual = context.input(3).data;
    return RunEpilogue(epilogue, dtype_, context.output(0).data, context.output(0).num_elements(),
                       stream);
  }

 private:
  absl::Status Choose(State* state) const {
    ConvDescriptors d;
    ONWARD_RETURN_IF_ERROR(d.Init(state->sizes, dtype_, precision_));
    cudnnHandle_t handle;
    ONWARD_RETURN_IF_ERROR(GetCudnn(nullptr, &handle));
    cudnnConvolutionFwdAlgoPerf_t found[8];
    int count = 0;
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnGetConvolutionForwardAlgorithm_v7(
        handle, d.x.get(), d.w.get(), d.conv.get(), d.y.get(), 8, &count, found)));
    for (int i = 0; i < count; ++i) {
      if (found[i].status != CUDNN_STATUS_SUCCESS) continue;
      if (deterministic_ && found[i].determinism != CUDNN_DETERMINISTIC) continue;
      state->algorithm = found[i].algo;
      state->workspace = static_cast<int64_t>(found[i].memory);
      return absl::OkStatus();
    }
    return absl::InternalError("cuDNN has no algorithm for this convolution");
  }

  ConvAttributes attributes_;
  ActivationSpec activation_;
  DType dtype_;
  Precision precision_;
  bool deterministic_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConv(const NodeSpec& spec) {
  const std::optional<SymbolicDims>& w = spec.input_type(1).shape;
  if (!w || (w->size() != 3 && w->size() != 4))
    return absl::UnimplementedError("only 1-D and 2-D convolutions");
  const size_t spatial = w->size() - 2;
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const WindowAttributes& window = attributes.window;
  for (const Dims& values : {window.strides, window.dilations, window.pads})
    if (!std::all_of(values.begin(), values.end(), FitsInt))
      return absl::UnimplementedError("strides, dilations or pads of 2^31 and more");
  const Dims& pads = attributes.window.pads;
  for (size_t i = 0; pads.size() == 2 * spatial && i < spatial; ++i)
    if (pads[i] != pads[spatial + i]) return absl::UnimplementedError("asymmetric padding");
  const bool same = attributes.window.auto_pad == AutoPad::kSameUpper ||
                    attributes.window.auto_pad == AutoPad::kSameLower;
  // SAME padding is symmetric for odd kernels that move by one.
  for (size_t i = 0; same && i < spatial; ++i) {
    const bool unit_stride = attributes.window.strides.empty() || attributes.window.strides[i] == 1;
    const Dim& kernel = (*w)[2 + i];
    if (!unit_stride || !kernel.known() || kernel.value() % 2 == 0)
      return absl::UnimplementedError("SAME padding that may be asymmetric");
  }
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  return std::make_unique<Conv>(std::move(attributes), activation, spec.input_dtype(0),
                                spec.options());
}

constexpr KernelEntry kKernels[] = {
    {"onward", "FusedConv", "fused_conv_cudnn", MakeConv},
    {"", "Conv", "conv_cudnn", MakeConv},
};

}  // namespace

KernelList ConvKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
