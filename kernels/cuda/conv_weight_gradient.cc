// onward.ConvWeightGradient in one or two dims through cuDNN, where the windows read X as those of
// a convolution with symmetric padding do; others are a convolution with batch and channels
// exchanged (graph/gradients/conv.cc).
#include <algorithm>

#include "kernels/cuda/cudnn_conv.h"
#include "kernels/cuda/image_axes.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "kernels/shapes/conv_gradient.h"

namespace onward::kernels::cuda {
namespace {

struct WeightGradientState {
  ConvSizes sizes;
  cudnnConvolutionBwdFilterAlgo_t algorithm;
  int64_t workspace = 0;
};

class ConvWeightGradient : public Kernel {
 public:
  ConvWeightGradient(ConvWeightAttributes attributes, DType dtype, Precision precision)
      : attributes_(std::move(attributes)), dtype_(dtype), precision_(precision) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0), dy = context.input_dims(1);
    ONWARD_ASSIGN_OR_RETURN(const WindowAxes axes, attributes_.Axes(x, dy));
    context.SetOutput(0, attributes_.OutputDims(x, dy));
    if (NumElements(x) == 0 || NumElements(dy) == 0) return absl::OkStatus();
    auto* state = context.NewState<WeightGradientState>();
    state->sizes = {x[0], x[1], dy[1], attributes_.group, {RowsOf(axes), axes.back()}};
    ONWARD_RETURN_IF_ERROR(Choose(state));
    context.SetScratch(state->workspace);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& dw = context.output(0);
    if (dw.num_elements() == 0) return absl::OkStatus();
    cudaStream_t stream = StreamOf(context);
    if (context.raw_state() == nullptr)
      return ToStatus(cudaMemsetAsync(dw.data, 0, static_cast<size_t>(dw.byte_size()), stream));
    const auto& state = context.state<WeightGradientState>();
    ConvDescriptors d;
    ONWARD_RETURN_IF_ERROR(d.Init(state.sizes, dtype_, precision_));
    cudnnHandle_t handle;
    ONWARD_RETURN_IF_ERROR(GetCudnn(stream, &handle));
    return LibraryStatus(cudnnConvolutionBackwardFilter(
        handle, CudnnOne(dtype_), d.x.get(), context.input(0).data, d.y.get(),
        context.input(1).data, d.conv.get(), state.algorithm, context.scratch<void>(),
        static_cast<size_t>(state.workspace), CudnnZero(dtype_), d.w.get(), dw.data));
  }

 private:
  // The first of cuDNN's whose sums have one order.
  absl::Status Choose(WeightGradientState* state) const {
    ConvDescriptors d;
    ONWARD_RETURN_IF_ERROR(d.Init(state->sizes, dtype_, precision_));
    cudnnHandle_t handle;
    ONWARD_RETURN_IF_ERROR(GetCudnn(nullptr, &handle));
    cudnnConvolutionBwdFilterAlgoPerf_t found[8];
    int count = 0;
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        handle, d.x.get(), d.y.get(), d.conv.get(), d.w.get(), 8, &count, found)));
    for (int i = 0; i < count; ++i) {
      if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].determinism != CUDNN_DETERMINISTIC)
        continue;
      state->algorithm = found[i].algo;
      state->workspace = static_cast<int64_t>(found[i].memory);
      return absl::OkStatus();
    }
    return absl::InternalError("cuDNN has no algorithm for this gradient; use --provider cpu");
  }

  ConvWeightAttributes attributes_;
  DType dtype_;
  Precision precision_;
};

// Unimplemented where sizes are not known, or the windows do not read all that symmetric padding
// would have them read.
absl::Status CheckSymmetric(const NodeSpec& spec, const ConvWeightAttributes& attributes) {
  const std::optional<SymbolicDims>&x = spec.input_type(0).shape, &dy = spec.input_type(1).shape;
  for (size_t i = 0; i < attributes.kernel.size(); ++i) {
    if (!x || !dy || x->size() != 2 + attributes.kernel.size() || dy->size() != x->size() ||
        !(*x)[2 + i].known() || !(*dy)[2 + i].known())
      return absl::UnimplementedError("only of images whose sizes are known");
    const int64_t extent = (attributes.kernel[i] - 1) * attributes.dilations[i] + 1;
    const int64_t room = (*x)[2 + i].value() + 2 * attributes.pads[i] - extent;
    if (attributes.pads[i] < 0 || room < 0 ||
        room / attributes.strides[i] + 1 != (*dy)[2 + i].value())
      return absl::UnimplementedError("asymmetric padding");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvWeightGradient(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (spec.input_dtype(1) != dtype)
    return absl::UnimplementedError("only where X and dY have one type");
  ONWARD_ASSIGN_OR_RETURN(ConvWeightAttributes attributes, ConvWeightAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(CheckSymmetric(spec, attributes));
  return std::make_unique<ConvWeightGradient>(std::move(attributes), dtype,
                                              spec.options().precision);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ConvWeightGradient", "conv_weight_gradient_cudnn", MakeConvWeightGradient}};

}  // namespace

KernelList ConvWeightGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
