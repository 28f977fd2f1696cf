// MatMul and Gemm through cuBLASLt, float32 and float64. Row-major products are computed
// transposed: D' = B' A'.
#include "kernels/shapes/matmul.h"

#include <optional>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/status.h"

namespace onward::cuda {
namespace {

constexpr int64_t kWorkspaceBytes = int64_t{4} << 20;

// op(A) is m x k, op(B) is k x n.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  bool has_bias = false;  // n elements, added to every row
};

struct Descriptors {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  ~Descriptors() {
    if (d != nullptr) cublasLtMatrixLayoutDestroy(d);
    if (b != nullptr) cublasLtMatrixLayoutDestroy(b);
    if (a != nullptr) cublasLtMatrixLayoutDestroy(a);
    if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
  }
};

class LtProduct {
 public:
  LtProduct(DType dtype, Precision precision)
      : type_(dtype == DType::kFloat64 ? CUDA_R_64F : CUDA_R_32F),
        compute_(dtype == DType::kFloat64        ? CUBLAS_COMPUTE_64F
                 : precision == Precision::kFast ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : CUBLAS_COMPUTE_32F) {}

  absl::Status Choose(const Product& product, cublasLtMatmulAlgo_t* algorithm) const {
    cublasLtHandle_t handle;
    ONWARD_RETURN_IF_ERROR(GetCublasLt(&handle));
    Descriptors descriptors;
    ONWARD_RETURN_IF_ERROR(Describe(product, nullptr, descriptors));
    cublasLtMatmulPreference_t preference;
    ONWARD_RETURN_IF_ERROR(ToStatus(cublasLtMatmulPreferenceCreate(&preference)));
    const size_t workspace = kWorkspaceBytes;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &workspace, sizeof(workspace));
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, descriptors.operation, descriptors.b, descriptors.a, descriptors.d, descriptors.d,
        preference, 1, &result, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    ONWARD_RETURN_IF_ERROR(ToStatus(status));
    if (found == 0) return absl::InternalError("cuBLASLt has no algorithm for this product");
    *algorithm = result.algo;
    return absl::OkStatus();
  }

  absl::Status Run(const Product& product, const cublasLtMatmulAlgo_t& algorithm, double alpha,
                   const void* a, const void* b, const void* bias, void* d, void* workspace,
                   cudaStream_t stream) const {
    cublasLtHandle_t handle;
    ONWARD_RETURN_IF_ERROR(GetCublasLt(&handle));
    Descriptors descriptors;
    ONWARD_RETURN_IF_ERROR(Describe(product, bias, descriptors));
    const float alpha32 = static_cast<float>(alpha), zero32 = 0;
    const double zero64 = 0;
    const bool is_double = type_ == CUDA_R_64F;
    return ToStatus(cublasLtMatmul(
        handle, descriptors.operation, is_double ? static_cast<const void*>(&alpha) : &alpha32, b,
        descriptors.b, a, descriptors.a, is_double ? static_cast<const void*>(&zero64) : &zero32, d,
        descriptors.d, d, descriptors.d, &algorithm, workspace, kWorkspaceBytes, stream));
  }

 private:
  absl::Status Describe(const Product& p, const void* bias, Descriptors& out) const {
    ONWARD_RETURN_IF_ERROR(ToStatus(cublasLtMatmulDescCreate(&out.operation, compute_, type_)));
    const cublasOperation_t first = p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescSetAttribute(out.operation, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                   sizeof(first));
    cublasLtMatmulDescSetAttribute(out.operation, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                   sizeof(second));
    if (p.has_bias) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      cublasLtMatmulDescSetAttribute(out.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                     sizeof(epilogue));
      if (bias != nullptr) {
        cublasLtMatmulDescSetAttribute(out.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                       sizeof(bias));
      }
    }
    // A row-major matrix of r x c is a column-major one of c x r with leading dimension c.
    const auto layout = [&](cublasLtMatrixLayout_t* target, int64_t rows, int64_t columns) {
      return ToStatus(cublasLtMatrixLayoutCreate(target, type_, static_cast<uint64_t>(columns),
                                                 static_cast<uint64_t>(rows), columns));
    };
    ONWARD_RETURN_IF_ERROR(layout(&out.a, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k));
    ONWARD_RETURN_IF_ERROR(layout(&out.b, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n));
    return layout(&out.d, p.m, p.n);
  }

  cudaDataType_t type_;
  cublasComputeType_t compute_;
};

struct State {
  Product product;
  cublasLtMatmulAlgo_t algorithm;
  int64_t batches = 1;
  DimsView batch, a_strides, b_strides;
};

class MatMul : public Kernel {
 public:
  MatMul(DType dtype, Precision precision)
      : product_(dtype, precision), width_(BitSize(dtype) / 8) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g,
                            MatMulDims(context.input_dims(0), context.input_dims(1)));
    State* state = context.NewState<State>();
    state->product = {g.m, g.n, g.k, false, false, false};
    state->batches = g.num_batches();
    state->batch = context.Keep<int64_t>(g.batch);
    state->a_strides = context.Keep<int64_t>(g.a_strides);
    state->b_strides = context.Keep<int64_t>(g.b_strides);
    context.SetOutput(0, g.output);
    context.SetScratch(kWorkspaceBytes);
    if (g.m == 0 || g.n == 0 || g.k == 0 || state->batches == 0) return absl::OkStatus();
    return product_.Choose(state->product, &state->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const State& state = context.state<State>();
    const Product& p = state.product;
    auto* stream = static_cast<cudaStream_t>(context.services()->stream());
    const TensorView& output = context.output(0);
    if (output.num_elements() == 0) return absl::OkStatus();
    if (p.k == 0)
      return ToStatus(
          cudaMemsetAsync(output.data, 0, static_cast<size_t>(output.byte_size()), stream));
    for (int64_t i = 0; i < state.batches; ++i) {
      const char* a = context.in<char>(0) + width_ * BatchOffset(state.batch, state.a_strides, i);
      const char* b = context.in<char>(1) + width_ * BatchOffset(state.batch, state.b_strides, i);
      ONWARD_RETURN_IF_ERROR(product_.Run(p, state.algorithm, 1, a, b, nullptr,
                                          context.out<char>(0) + width_ * i * p.m * p.n,
                                          context.scratch<void>(), stream));
    }
    return absl::OkStatus();
  }

 private:
  LtProduct product_;
  int64_t width_;
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
    State* state = context.NewState<State>();
    state->product = {g.m, g.n, g.k, attributes_.trans_a, attributes_.trans_b, has_c};
    context.SetOutput(0, Dims{g.m, g.n});
    context.SetScratch(kWorkspaceBytes);
    if (g.m == 0 || g.n == 0) return absl::OkStatus();
    if (g.k == 0)
      return absl::InvalidArgumentError(
          "a product over an empty axis is not computed on the device");
    return product_.Choose(state->product, &state->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const State& state = context.state<State>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    return product_.Run(state.product, state.algorithm, attributes_.alpha, context.input(0).data,
                        context.input(1).data,
                        state.product.has_bias ? context.input(2).data : nullptr,
                        context.output(0).data, context.scratch<void>(),
                        static_cast<cudaStream_t>(context.services()->stream()));
  }

 private:
  LtProduct product_;
  GemmAttributes attributes_;
};

bool Supported(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const NodeSpec& spec) {
  if (!Supported(spec.input_dtype(0))) return absl::UnimplementedError("only float32 and float64");
  return std::make_unique<MatMul>(spec.input_dtype(0), spec.options().precision);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGemm(const NodeSpec& spec) {
  if (!Supported(spec.input_dtype(0))) return absl::UnimplementedError("only float32 and float64");
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

}  // namespace onward::cuda
