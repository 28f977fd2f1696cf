// Conv and onward.FusedConv whose windows are single elements side by side: for each image the
// product of the filters, a matrix of filters x channels, and of the image, channels x elements.
#include <algorithm>
#include <optional>

#include "kernels/bind/activation.h"
#include "kernels/bind/conv.h"
#include "kernels/cuda/cublaslt_product.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

struct State {
  Product product;
  cublasLtMatmulAlgo_t algorithm;
};

class PointwiseConv : public Kernel {
 public:
  PointwiseConv(ConvAttributes attributes, const ActivationSpec& activation, DType dtype,
                Precision precision)
      : attributes_(std::move(attributes)), product_(dtype, precision), dtype_(dtype) {
    epilogue_.activation = activation;
  }

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, context));
    ONWARD_RETURN_IF_ERROR(CheckResidual(context, g.output));
    context.SetOutput(0, g.output);
    if (context.has_input(3)) context.AllowInPlace(0, 3);
    context.SetScratch(LtProduct::scratch_bytes());
    auto* state = context.NewState<State>();
    if (NumElements(g.output) == 0) return absl::OkStatus();
    if (g.batch > INT32_MAX) return absl::UnimplementedError("more than 2^31 - 1 images");
    Product& p = state->product;
    p.m = g.filters;
    p.n = g.output_size();
    p.k = g.channels;
    p.batches = static_cast<int32_t>(g.batch);
    p.b_stride = p.k * p.n;
    p.has_residual = context.has_input(3);
    const int64_t width = BitSize(dtype_) / 8;
    if (p.batches > 1) {
      p.b_alignment = AlignmentOfSteps(width * p.b_stride);
      p.d_alignment = AlignmentOfSteps(width * p.m * p.n);
    }
    return product_.Choose(p, &state->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& output = context.output(0);
    if (output.num_elements() == 0) return absl::OkStatus();
    const auto& state = context.state<State>();
    cudaStream_t stream = StreamOf(context);
    ProductOperands operands;
    operands.a = context.input(1).data;
    operands.b = context.input(0).data;
    if (state.product.has_residual) operands.residual = context.input(3).data;
    operands.d = output.data;
    ONWARD_RETURN_IF_ERROR(
        product_.Run(state.product, state.algorithm, 1, operands, context.scratch<void>(), stream));
    Epilogue epilogue = epilogue_;
    epilogue.channels = state.product.m;
    epilogue.inner = state.product.n;
    if (context.has_input(2)) epilogue.bias = context.input(2).data;
    return RunEpilogue(epilogue, dtype_, output.data, output.num_elements(), stream);
  }

 private:
  ConvAttributes attributes_;
  LtProduct product_;
  DType dtype_;
  Epilogue epilogue_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakePointwiseConv(const NodeSpec& spec) {
  const std::optional<Dims> w = spec.input_type(1).static_dims();
  if (!w || w->size() < 3 || NumElements(*w, 2, static_cast<int64_t>(w->size())) != 1 ||
      NumElements(*w) == 0)
    return absl::UnimplementedError("only windows of one element");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const WindowAttributes& window = attributes.window;
  const auto are = [](const Dims& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(),
                       [wanted](int64_t value) { return value == wanted; });
  };
  if (attributes.group != 1 || !are(window.strides, 1) || !are(window.pads, 0))
    return absl::UnimplementedError("only one group, without strides and padding");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  if (!IsFloating(spec.input_dtype(0)) || BitSize(spec.input_dtype(0)) < 16)
    return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<PointwiseConv>(std::move(attributes), activation, spec.input_dtype(0),
                                         spec.options().precision);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "FusedConv", "fused_pointwise_conv_cublaslt", MakePointwiseConv},
    {"", "Conv", "pointwise_conv_cublaslt", MakePointwiseConv},
};

}  // namespace

KernelList PointwiseConvKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
