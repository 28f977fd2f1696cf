// MatMul and Gemm of floats through cuBLASLt.
#include "kernels/shapes/matmul.h"

#include <numeric>
#include <optional>

#include "kernels/cuda/cublaslt_product.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/status.h"

namespace onward::kernels::cuda {
namespace {

cudaStream_t StreamOf(const RunContext& context) {
  return static_cast<cudaStream_t>(context.services()->stream());
}

// One launch for the innermost batch axis; the others are loops.
struct MatMulState {
  Product product;
  cublasLtMatmulAlgo_t algorithm;
  DimsView batch, a_strides, b_strides;  // without the innermost axis
};

class MatMul : public Kernel {
 public:
  MatMul(DType dtype, Precision precision)
      : product_(dtype, precision), width_(BitSize(dtype) / 8) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g,
                            MatMulDims(context.input_dims(0), context.input_dims(1)));
    auto* state = context.NewState<MatMulState>();
    Product& p = state->product;
    p.m = g.m;
    p.n = g.n;
    p.k = g.k;
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
    context.SetOutput(0, g.output);
    context.SetScratch(LtProduct::scratch_bytes());
    if (g.k == 0 || NumElements(g.output) == 0) return absl::OkStatus();
    return product_.Choose(p, &state->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<MatMulState>();
    const Product& p = state.product;
    cudaStream_t stream = StreamOf(context);
    const TensorView& output = context.output(0);
    if (output.num_elements() == 0) return absl::OkStatus();
    if (p.k == 0)
      return ToStatus(
          cudaMemsetAsync(output.data, 0, static_cast<size_t>(output.byte_size()), stream));
    for (int64_t i = 0; i < NumElements(state.batch); ++i) {
      const char* a = context.in<char>(0) + width_ * BatchOffset(state.batch, state.a_strides, i);
      const char* b = context.in<char>(1) + width_ * BatchOffset(state.batch, state.b_strides, i);
      ONWARD_RETURN_IF_ERROR(product_.Run(p, state.algorithm, 1, a, b, nullptr,
                                          context.out<char>(0) + width_ * i * p.batches * p.m * p.n,
                                          context.scratch<void>(), stream));
    }
    return absl::OkStatus();
  }

 private:
  uint32_t AlignmentOf(DimsView strides) const {
    return AlignmentOfSteps(std::accumulate(strides.begin(), strides.end(), int64_t{0},
                                            [](int64_t a, int64_t b) { return std::gcd(a, b); }) *
                            width_);
  }

  LtProduct product_;
  int64_t width_;
};

struct GemmState {
  Product product;
  cublasLtMatmulAlgo_t algorithm;
};

class Gemm : public Kernel {
 public:
  Gemm(DType dtype, Precision precision, const GemmAttributes& attributes)
      : product_(dtype, precision), attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    const bool has_c = context.has_input(2);
    const DimsView c = has_c ? context.input_dims(2) : DimsView();
    ONWARD_ASSIGN_OR_RETURN(
        const GemmGeometry g,
        GemmDims(attributes_, context.input_dims(0), context.input_dims(1), has_c ? &c : nullptr));
    auto* state = context.NewState<GemmState>();
    Product& p = state->product;
    p.m = g.m;
    p.n = g.n;
    p.k = g.k;
    p.trans_a = attributes_.trans_a;
    p.trans_b = attributes_.trans_b;
    p.has_bias = has_c;
    context.SetOutput(0, Dims{g.m, g.n});
    context.SetScratch(LtProduct::scratch_bytes());
    if (g.m == 0 || g.n == 0 || g.k == 0) return absl::OkStatus();
    return product_.Choose(p, &state->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<GemmState>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    if (state.product.k == 0) return RunEmpty(context, state.product);
    return product_.Run(state.product, state.algorithm, attributes_.alpha, context.input(0).data,
                        context.input(1).data,
                        state.product.has_bias ? context.input(2).data : nullptr,
                        context.output(0).data, context.scratch<void>(), StreamOf(context));
  }

 private:
  // The bias in every row.
  static absl::Status RunEmpty(RunContext& context, const Product& product) {
    cudaStream_t stream = StreamOf(context);
    const auto bytes = static_cast<size_t>(context.output(0).byte_size());
    if (!product.has_bias)
      return ToStatus(cudaMemsetAsync(context.output(0).data, 0, bytes, stream));
    const size_t row = bytes / static_cast<size_t>(product.m);
    for (int64_t i = 0; i < product.m; ++i) {
      ONWARD_RETURN_IF_ERROR(
          ToStatus(cudaMemcpyAsync(context.out<char>(0) + static_cast<size_t>(i) * row,
                                   context.input(2).data, row, cudaMemcpyDeviceToDevice, stream)));
    }
    return absl::OkStatus();
  }

  LtProduct product_;
  GemmAttributes attributes_;
};

bool Supported(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const NodeSpec& spec) {
  if (!Supported(spec.input_dtype(0))) return absl::UnimplementedError("only floats");
  return std::make_unique<MatMul>(spec.input_dtype(0), spec.options().precision);
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
    {"", "Gemm", "gemm_cublaslt", MakeGemm},
    {"", "MatMul", "matmul_cublaslt", MakeMatMul},
};

}  // namespace

KernelList MatMulKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
