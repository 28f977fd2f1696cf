// MatMul, Gemm and onward.FusedMatMul of floats through cuBLASLt.
#include "kernels/bind/matmul.h"

#include <numeric>
#include <optional>

#include "kernels/bind/activation.h"
#include "kernels/cuda/cublaslt_product.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

// Whether products of the dtype take a bias and an activation: cuBLASLt's heuristic finds no
// algorithm for those of float64 that do.
bool HasEpilogues(DType dtype) { return dtype != DType::kFloat64; }

// One launch for the innermost batch axis; the others are loops.
struct MatMulState {
  Product product;
  cublasLtMatmulAlgo_t algorithm;
  DimsView batch, a_strides, b_strides;  // without the innermost axis
};

// MatMul and onward.FusedMatMul.
class MatMul : public Kernel {
 public:
  MatMul(DType dtype, Precision precision, const FusedMatMulAttributes& attributes,
         const ActivationSpec& activation)
      : product_(dtype, precision),
        dtype_(dtype),
        width_(BitSize(dtype) / 8),
        attributes_(attributes) {
    epilogue_.activation = activation;
  }

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g, BindFusedMatMul(context, attributes_));
    auto* state = context.NewState<MatMulState>();
    Product& p = state->product;
    p.m = g.m;
    p.n = g.n;
    p.k = g.k;
    p.trans_a = attributes_.trans_a;
    p.trans_b = attributes_.trans_b;
    p.has_bias = HasEpilogues(dtype_) && context.has_input(2);
    p.has_residual = context.has_input(3);
    p.relu = HasEpilogues(dtype_) && epilogue_.activation.kind == Activation::kRelu;
    Dims batch = g.batch, a_strides = g.a_strides, b_strides = g.b_strides;
    if (!batch.empty()) {
      if (batch.back() > INT32_MAX) return absl::UnimplementedError("more than 2^31 - 1 batches");
      p.batches = static_cast<int32_t>(batch.back());
      p.a_stride = a_strides.back();
      p.b_stride = b_strides.back();
      p.a_alignment = AlignmentOf(a_strides);
      p.b_alignment = AlignmentOf(b_strides);
      p.d_alignment = AlignmentOfSteps(width_ * g.m * g.n);
      batch.pop_back();
      a_strides.pop_back();
      b_strides.pop_back();
    }
    state->batch = context.Keep<int64_t>(batch);
    state->a_strides = context.Keep<int64_t>(a_strides);
    state->b_strides = context.Keep<int64_t>(b_strides);
    context.SetScratch(LtProduct::scratch_bytes());
    if (g.k == 0 || NumElements(g.output) == 0) return absl::OkStatus();
    return product_.Choose(p, &state->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<MatMulState>();
    const Product& p = state.product;
    const TensorView& output = context.output(0);
    if (output.num_elements() == 0) return absl::OkStatus();
    if (p.k == 0) return RunWithoutDepth(context, p);
    for (int64_t i = 0; i < NumElements(state.batch); ++i) {
      const int64_t to = width_ * i * p.batches * p.m * p.n;
      ProductOperands operands;
      operands.a = context.in<char>(0) + width_ * BatchOffset(state.batch, state.a_strides, i);
      operands.b = context.in<char>(1) + width_ * BatchOffset(state.batch, state.b_strides, i);
      if (p.has_bias) operands.bias = context.input(2).data;
      if (p.has_residual) operands.residual = context.in<char>(3) + to;
      operands.d = context.out<char>(0) + to;
      ONWARD_RETURN_IF_ERROR(product_.Run(p, state.algorithm, attributes_.alpha, operands,
                                          context.scratch<void>(), StreamOf(context)));
    }
    Epilogue epilogue = epilogue_;
    if (p.relu) epilogue.activation = {};
    if (!p.has_bias) SetBias(context, p, epilogue);
    return RunEpilogue(epilogue, dtype_, output.data, output.num_elements(), StreamOf(context));
  }

 private:
  // The product is 0.
  absl::Status RunWithoutDepth(RunContext& context, const Product& p) const {
    const TensorView& output = context.output(0);
    Epilogue epilogue = epilogue_;
    SetBias(context, p, epilogue);
    const bool over_residual = p.has_residual && context.input(3).data == output.data;
    if (p.has_residual && !over_residual) epilogue.residual = context.input(3).data;
    if (!over_residual) {
      ONWARD_RETURN_IF_ERROR(ToStatus(cudaMemsetAsync(
          output.data, 0, static_cast<size_t>(output.byte_size()), StreamOf(context))));
    }
    return RunEpilogue(epilogue, dtype_, output.data, output.num_elements(), StreamOf(context));
  }

  static void SetBias(const RunContext& context, const Product& p, Epilogue& epilogue) {
    if (!context.has_input(2)) return;
    epilogue.channels = p.n;
    epilogue.bias = context.input(2).data;
  }

  uint32_t AlignmentOf(DimsView strides) const {
    return AlignmentOfSteps(std::accumulate(strides.begin(), strides.end(), int64_t{0},
                                            [](int64_t a, int64_t b) { return std::gcd(a, b); }) *
                            width_);
  }

  LtProduct product_;
  DType dtype_;
  int64_t width_;
  FusedMatMulAttributes attributes_;
  Epilogue epilogue_;  // what the product does not do itself
};

struct GemmState {
  Product product;
  cublasLtMatmulAlgo_t algorithm;
};

class Gemm : public Kernel {
 public:
  Gemm(DType dtype, Precision precision, const GemmAttributes& attributes)
      : product_(dtype, precision), dtype_(dtype), attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const GemmGeometry g, GemmDims(attributes_, context));
    auto* state = context.NewState<GemmState>();
    Product& p = state->product;
    p.m = g.m;
    p.n = g.n;
    p.k = g.k;
    p.trans_a = attributes_.trans_a;
    p.trans_b = attributes_.trans_b;
    p.has_bias = context.has_input(2) && HasEpilogues(dtype_);
    context.SetOutput(0, Dims{g.m, g.n});
    context.SetScratch(LtProduct::scratch_bytes());
    if (g.m == 0 || g.n == 0 || g.k == 0) return absl::OkStatus();
    return product_.Choose(p, &state->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<GemmState>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    if (state.product.k == 0) return RunEmpty(context, state.product);
    ProductOperands operands;
    operands.a = context.input(0).data;
    operands.b = context.input(1).data;
    if (state.product.has_bias) operands.bias = context.input(2).data;
    operands.d = context.output(0).data;
    ONWARD_RETURN_IF_ERROR(product_.Run(state.product, state.algorithm, attributes_.alpha, operands,
                                        context.scratch<void>(), StreamOf(context)));
    if (!context.has_input(2) || state.product.has_bias) return absl::OkStatus();
    return AddBias(context, state.product);
  }

 private:
  // The product is 0.
  absl::Status RunEmpty(RunContext& context, const Product& product) const {
    ONWARD_RETURN_IF_ERROR(ToStatus(
        cudaMemsetAsync(context.output(0).data, 0,
                        static_cast<size_t>(context.output(0).byte_size()), StreamOf(context))));
    return context.has_input(2) ? AddBias(context, product) : absl::OkStatus();
  }

  absl::Status AddBias(const RunContext& context, const Product& product) const {
    Epilogue epilogue;
    epilogue.channels = product.n;
    epilogue.bias = context.input(2).data;
    return RunEpilogue(epilogue, dtype_, context.output(0).data, context.output(0).num_elements(),
                       StreamOf(context));
  }

  LtProduct product_;
  DType dtype_;
  GemmAttributes attributes_;
};

bool Supported(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const NodeSpec& spec) {
  if (!Supported(spec.input_dtype(0))) return absl::UnimplementedError("only floats");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  return std::make_unique<MatMul>(spec.input_dtype(0), spec.options().precision,
                                  FusedMatMulAttributes::Parse(spec), activation);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGemm(const NodeSpec& spec) {
  if (!Supported(spec.input_dtype(0))) return absl::UnimplementedError("only floats");
  const GemmAttributes attributes = GemmAttributes::Parse(spec);
  if (spec.has_input(2)) {
    if (attributes.beta != 1.0f) return absl::UnimplementedError("beta is not 1");
    const std::optional<Dims> c = spec.input_type(2).static_dims();
    const std::optional<Dims> b = spec.input_type(1).static_dims();
    const bool per_column = c && b && !c->empty() && NumElements(*c) == c->back() &&
                            b->size() == 2 && c->back() == (*b)[attributes.trans_b ? 0 : 1];
    if (!per_column) return absl::UnimplementedError("C is not one row");
  }
  return std::make_unique<Gemm>(spec.input_dtype(0), spec.options().precision, attributes);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "FusedMatMul", "fused_matmul_cublaslt", MakeMatMul},
    {"", "Gemm", "gemm_cublaslt", MakeGemm},
    {"", "MatMul", "matmul_cublaslt", MakeMatMul},
};

}  // namespace

KernelList MatMulKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
