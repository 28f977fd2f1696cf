// onward.ConvWeightGradient in one or two dims through cuDNN; where padding cuts X it is a
// convolution with batch and channels exchanged (graph/gradients/conv.cc).
#include <algorithm>

#include "kernels/bind/conv_gradient.h"
#include "kernels/cuda/conv_graph.h"
#include "kernels/cuda/image_axes.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

struct WeightGradientState {
  const CudnnPlan* plan = nullptr;
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
    const ConvSizes sizes = {x[0], x[1], dy[1], attributes_.group, {RowsOf(axes), axes.back()}};
    ONWARD_RETURN_IF_ERROR(CheckConvSizes(sizes));
    ONWARD_ASSIGN_OR_RETURN(state->plan, PlanGraph(ConvWeightGradientGraph(sizes, dtype_),
                                                   ConvDemands(dtype_, precision_)));
    context.SetScratch(state->plan->workspace());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& dw = context.output(0);
    if (dw.num_elements() == 0) return absl::OkStatus();
    cudaStream_t stream = StreamOf(context);
    if (context.raw_state() == nullptr)
      return ToStatus(cudaMemsetAsync(dw.data, 0, static_cast<size_t>(dw.byte_size()), stream));
    const void* const memory[] = {context.input(1).data, context.input(0).data, dw.data};
    return context.state<WeightGradientState>().plan->Run(memory, context.scratch<void>(), stream);
  }

 private:
  ConvWeightAttributes attributes_;
  DType dtype_;
  Precision precision_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvWeightGradient(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (spec.input_dtype(1) != dtype)
    return absl::UnimplementedError("only where X and dY have one type");
  ONWARD_ASSIGN_OR_RETURN(ConvWeightAttributes attributes, ConvWeightAttributes::Parse(spec));
  if (std::any_of(attributes.pads.begin(), attributes.pads.end(), [](int64_t p) { return p < 0; }))
    return absl::UnimplementedError("negative padding");
  return std::make_unique<ConvWeightGradient>(std::move(attributes), dtype,
                                              spec.options().precision);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ConvWeightGradient", "conv_weight_gradient_cudnn", MakeConvWeightGradient}};

}  // namespace

KernelList ConvWeightGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
