#include "kernels/cuda/cublaslt_product.h"

#include <algorithm>
#include <memory>

#include "kernels/cuda/libraries.h"
#include "kernels/cuda/row_product.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr int64_t kWorkspaceAlignment = 256;

template <typename Handle, typename Attribute, typename Value>
absl::Status Set(cublasStatus_t (*set)(Handle, Attribute, const void*, size_t), Handle handle,
                 Attribute attribute, const Value& value) {
  return LibraryStatus(set(handle, attribute, &value, sizeof(value)));
}

cudaDataType_t TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return CUDA_R_64F;
    case DType::kFloat16:
      return CUDA_R_16F;
    case DType::kBFloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

void* Aligned(void* scratch) {
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  constexpr uintptr_t kMask = kWorkspaceAlignment - 1;
  return reinterpret_cast<void*>((address + kMask) & ~kMask);
}

}  // namespace

struct LtProduct::Descriptors {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  Descriptors() = default;
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    if (d != nullptr) cublasLtMatrixLayoutDestroy(d);
    if (b != nullptr) cublasLtMatrixLayoutDestroy(b);
    if (a != nullptr) cublasLtMatrixLayoutDestroy(a);
    if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
  }
};

uint32_t AlignmentOfSteps(int64_t bytes) {
  constexpr auto kMost = static_cast<int64_t>(kTensorAlignment);
  return static_cast<uint32_t>(bytes == 0 ? kMost : std::min(kMost, bytes & -bytes));
}

LtProduct::LtProduct(DType dtype, Precision precision)
    : dtype_(dtype),
      type_(TypeOf(dtype)),
      scale_(dtype == DType::kFloat64 ? CUDA_R_64F : CUDA_R_32F),
      compute_(dtype == DType::kFloat64 ? CUBLAS_COMPUTE_64F
               : dtype == DType::kFloat32 && precision == Precision::kFast
                   ? CUBLAS_COMPUTE_32F_FAST_TF32
                   : CUBLAS_COMPUTE_32F) {}

int64_t LtProduct::scratch_bytes() { return kWorkspaceBytes + kWorkspaceAlignment; }

absl::Status LtProduct::Choose(const Product& product, cublasLtMatmulAlgo_t* algorithm) const {
  if (IsRowProduct(product)) return absl::OkStatus();
  cublasLtHandle_t handle;
  ONWARD_RETURN_IF_ERROR(GetCublasLt(&handle));
  Descriptors descriptors;
  ONWARD_RETURN_IF_ERROR(Describe(product, nullptr, descriptors));
  cublasLtMatmulPreference_t preference;
  ONWARD_RETURN_IF_ERROR(LibraryStatus(cublasLtMatmulPreferenceCreate(&preference)));
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                        cublasStatus_t (*)(cublasLtMatmulPreference_t)>
      owner(preference, cublasLtMatmulPreferenceDestroy);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    return Set(cublasLtMatmulPreferenceSetAttribute, preference, attribute, value);
  };
  ONWARD_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspaceBytes)));
  ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, product.b_alignment));
  ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, product.a_alignment));
  ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, product.d_alignment));
  ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, product.d_alignment));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  ONWARD_RETURN_IF_ERROR(LibraryStatus(cublasLtMatmulAlgoGetHeuristic(
      handle, descriptors.operation, descriptors.b, descriptors.a, descriptors.d, descriptors.d,
      preference, 1, &result, &found)));
  if (found == 0) return absl::UnimplementedError("cuBLASLt has no algorithm for this product");
  *algorithm = result.algo;
  return absl::OkStatus();
}

absl::Status LtProduct::Run(const Product& product, const cublasLtMatmulAlgo_t& algorithm,
                            double alpha, const ProductOperands& operands, void* scratch,
                            cudaStream_t stream) const {
  if (IsRowProduct(product)) return RunRowProduct(product, dtype_, alpha, operands, stream);
  cublasLtHandle_t handle;
  ONWARD_RETURN_IF_ERROR(GetCublasLt(&handle));
  Descriptors descriptors;
  ONWARD_RETURN_IF_ERROR(Describe(product, operands.bias, descriptors));
  const double beta = product.has_residual ? 1 : 0;
  const auto alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
  const bool is_double = scale_ == CUDA_R_64F;
  const auto scale = [&](const double& wide, const float& narrow) {
    return is_double ? static_cast<const void*>(&wide) : &narrow;
  };
  return LibraryStatus(cublasLtMatmul(
      handle, descriptors.operation, scale(alpha, alpha32), operands.b, descriptors.b, operands.a,
      descriptors.a, scale(beta, beta32), product.has_residual ? operands.residual : operands.d,
      descriptors.d, operands.d, descriptors.d, &algorithm, Aligned(scratch), kWorkspaceBytes,
      stream));
}

// Row-major products are computed transposed: D' = B' A'.
absl::Status LtProduct::Describe(const Product& p, const void* bias, Descriptors& out) const {
  ONWARD_RETURN_IF_ERROR(LibraryStatus(cublasLtMatmulDescCreate(&out.operation, compute_, scale_)));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    return Set(cublasLtMatmulDescSetAttribute, out.operation, attribute, value);
  };
  ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N));
  ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N));
  const cublasLtEpilogue_t epilogue =
      p.relu       ? p.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU
      : p.has_bias ? CUBLASLT_EPILOGUE_BIAS
                   : CUBLASLT_EPILOGUE_DEFAULT;
  ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (p.has_bias && bias != nullptr)
    ONWARD_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  // A row-major matrix of r x c is a column-major one of c x r with leading dimension c.
  const auto layout = [&](cublasLtMatrixLayout_t* target, int64_t rows, int64_t columns,
                          int64_t stride) -> absl::Status {
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cublasLtMatrixLayoutCreate(
        target, type_, static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), columns)));
    if (p.batches == 1) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(Set(cublasLtMatrixLayoutSetAttribute, *target,
                               CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, p.batches));
    return Set(cublasLtMatrixLayoutSetAttribute, *target,
               CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  };
  ONWARD_RETURN_IF_ERROR(layout(&out.a, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.a_stride));
  ONWARD_RETURN_IF_ERROR(layout(&out.b, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.b_stride));
  return layout(&out.d, p.m, p.n, p.m * p.n);
}

}  // namespace onward::kernels::cuda
