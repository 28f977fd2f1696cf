// cuBLASLt's calls that the provider makes, on the emulated device: products of column-major
// matrices of floats. What the library leaves undefined is refused here.
#include <cublasLt.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "onward/small_float.h"
#include "tests/emulated_cuda/state.h"

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

namespace {

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batches = 1;
  int64_t stride = 0;

  // From the first element to the last one.
  size_t extent() const {
    return static_cast<size_t>(stride) * static_cast<size_t>(batches - 1) +
           (columns - 1) * static_cast<size_t>(leading) + rows;
  }
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C, D
};

// What an algorithm was chosen for; lies in cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t magic, problem, workspace;
  uint32_t alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));
constexpr uint64_t kMagic = 0x6F6E77617264;

template <typename T, typename Handle>
T& As(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}

uint64_t Fingerprint(const Operation& operation, const Layout& a, const Layout& b,
                     const Layout& d) {
  uint64_t hash = 1469598103934665603u;  // FNV-1a
  const auto mix = [&](auto value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211u;
  };
  mix(operation.compute);
  mix(operation.scale);
  mix(operation.transpose_a);
  mix(operation.transpose_b);
  mix(operation.epilogue);
  for (const Layout* layout : {&a, &b, &d}) {
    mix(layout->type);
    mix(layout->rows);
    mix(layout->columns);
    mix(layout->leading);
    mix(layout->batches);
    mix(layout->stride);
  }
  return hash;
}

bool Fit(const Operation& operation, const Layout& a, const Layout& b, const Layout& d) {
  for (const Layout* layout : {&a, &b, &d}) {
    if (layout->rows == 0 || layout->columns == 0 || layout->batches != d.batches ||
        layout->leading < static_cast<int64_t>(layout->rows))
      return false;
  }
  const bool ta = operation.transpose_a != CUBLAS_OP_N, tb = operation.transpose_b != CUBLAS_OP_N;
  return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
         (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows);
}

bool HasBias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

bool HasRelu(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

template <typename S>
struct Scales {
  S alpha, beta;
};

// Sums and scales in `S`, rounds to T once. C has D's layout, and may be D.
template <typename T, typename S>
void Multiply(const Operation& operation, const Layout& la, const Layout& lb, const Layout& ld,
              const T* a, const T* b, const T* c, T* d, Scales<S> scales) {
  const bool ta = operation.transpose_a != CUBLAS_OP_N, tb = operation.transpose_b != CUBLAS_OP_N;
  const auto depth = static_cast<int64_t>(ta ? la.rows : la.columns);
  const auto rows = static_cast<int64_t>(ld.rows);
  std::vector<double> sums(ld.rows);
  for (int64_t column = 0; column < static_cast<int64_t>(ld.columns); ++column) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t k = 0; k < depth; ++k) {
      const auto factor = static_cast<double>(
          static_cast<S>(tb ? b[column + k * lb.leading] : b[k + column * lb.leading]));
      const T* from = ta ? a + k : a + k * la.leading;
      const int64_t step = ta ? la.leading : 1;
      for (int64_t row = 0; row < rows; ++row)
        sums[static_cast<size_t>(row)] +=
            static_cast<double>(static_cast<S>(from[row * step])) * factor;
    }
    for (int64_t row = 0; row < rows; ++row) {
      S value = scales.alpha * static_cast<S>(sums[static_cast<size_t>(row)]);
      if (scales.beta != 0) value += scales.beta * static_cast<S>(c[row + column * ld.leading]);
      if (HasBias(operation.epilogue))
        value += static_cast<S>(static_cast<const T*>(operation.bias)[row]);
      if (HasRelu(operation.epilogue) && value < 0) value = 0;
      d[row + column * ld.leading] = static_cast<T>(value);
    }
  }
}

template <typename T, typename S>
cudaError_t EnqueueProduct(const Operation& operation, const Layout& la, const Layout& lb,
                           const Layout& ld, const void* a, const void* b, const void* c, void* d,
                           Scales<S> scales, cudaStream_t stream) {
  return Enqueue(stream, "cublasLtMatmul", [=] {
    for (int64_t i = 0; i < ld.batches; ++i) {
      Multiply(operation, la, lb, ld, static_cast<const T*>(a) + i * la.stride,
               static_cast<const T*>(b) + i * lb.stride, static_cast<const T*>(c) + i * ld.stride,
               static_cast<T*>(d) + i * ld.stride, scales);
    }
  });
}

bool IsAligned(const void* pointer, uint64_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

cublasStatus_t Wrong(const char* what) {
  std::fprintf(stderr, "emulated device: cublasLtMatmul: %s\n", what);
  return CUBLAS_STATUS_INVALID_VALUE;
}

#define ENTER(call)        \
  const Entry entry(call); \
  if (entry.error() != cudaSuccess) return CUBLAS_STATUS_INTERNAL_ERROR

}  // namespace

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t status) {
  thread_local char text[40];
  std::snprintf(text, sizeof(text), "emulated status %d", static_cast<int>(status));
  return text;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  ENTER("cublasLtCreate");
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* result, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  ENTER("cublasLtMatmulDescCreate");
  ++GetState().counters.descriptors;
  *result = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete &As<Operation>(operation);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t target,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  Operation& operation = As<Operation>(target);
  const auto set = [&](auto& member) {
    if (bytes != sizeof(member)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&member, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(operation.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(operation.transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(operation.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(operation.bias);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* result, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  ENTER("cublasLtMatrixLayoutCreate");
  ++GetState().counters.descriptors;
  *result = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &As<Layout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t target,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  Layout& layout = As<Layout>(target);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(layout.batches)) {
    std::memcpy(&layout.batches, value, bytes);
  } else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
             bytes == sizeof(layout.stride)) {
    std::memcpy(&layout.stride, value, bytes);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return layout.batches >= 1 && layout.stride >= 0 ? CUBLAS_STATUS_SUCCESS
                                                   : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* result) {
  *result = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &As<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t target,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  Preference& preference = As<Preference>(target);
  const int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof(uint64_t)) {
    std::memcpy(&preference.workspace, value, bytes);
  } else if (operand >= 0 && operand < 4 && bytes == sizeof(uint32_t)) {
    std::memcpy(&preference.alignment[operand], value, bytes);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t target, int most,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  ENTER("cublasLtMatmulAlgoGetHeuristic");
  ++GetState().counters.heuristics;
  const Layout &la = As<Layout>(a), &lb = As<Layout>(b), &ld = As<Layout>(d);
  if (most < 1 || !Fit(As<Operation>(operation), la, lb, ld)) return CUBLAS_STATUS_INVALID_VALUE;
  const Preference& preference = As<Preference>(target);
  Algorithm algorithm = {
      kMagic, Fingerprint(As<Operation>(operation), la, lb, ld), preference.workspace, {}};
  std::copy_n(preference.alignment, 4, algorithm.alignment);
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = preference.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* chosen,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  ENTER("cublasLtMatmul");
  ++GetState().counters.products;
  const Operation& op = As<Operation>(operation);
  const Layout &la = As<Layout>(layout_a), &lb = As<Layout>(layout_b), &ld = As<Layout>(layout_d);
  Algorithm algorithm;
  std::memcpy(&algorithm, chosen, sizeof(algorithm));
  if (algorithm.magic != kMagic || algorithm.problem != Fingerprint(op, la, lb, ld))
    return Wrong("the algorithm is another problem's");
  if (workspace_bytes < algorithm.workspace || !IsAllocated(workspace, workspace_bytes))
    return Wrong("the workspace is too small");
  if (!IsAligned(workspace, 256)) return Wrong("the workspace is not aligned to 256 bytes");
  const void* operands[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (!IsAligned(operands[i], algorithm.alignment[i]))
      return Wrong("an operand is aligned less than was said");
  const size_t width = la.type == CUDA_R_64F ? 8 : la.type == CUDA_R_32F ? 4 : 2;
  if (lb.type != la.type || ld.type != la.type) return Wrong("the operands' types differ");
  if (op.scale != (width == 8 ? CUDA_R_64F : CUDA_R_32F))
    return Wrong("alpha is of another type than the products are summed in");
  if (!IsAllocated(a, la.extent() * width) || !IsAllocated(b, lb.extent() * width) ||
      !IsAllocated(d, ld.extent() * width))
    return Wrong("an operand does not lie in an allocation");
  if (HasBias(op.epilogue) && !IsAllocated(op.bias, ld.rows * width))
    return Wrong("the bias does not lie in an allocation");
  if (width == 8 && op.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    return Wrong("products of float64 have no epilogue");
  if (std::memcmp(&As<Layout>(layout_c), &ld, sizeof(Layout)) != 0)
    return Wrong("C has another layout than D");
  if (!IsAllocated(c, ld.extent() * width)) return Wrong("C does not lie in an allocation");
  const auto enqueue = [&](auto element, auto scale) {
    using S = decltype(scale);
    const Scales<S> scales = {*static_cast<const S*>(alpha), *static_cast<const S*>(beta)};
    return EnqueueProduct<decltype(element)>(op, la, lb, ld, a, b, c, d, scales, stream);
  };
  const cudaError_t error = la.type == CUDA_R_64F    ? enqueue(double(), double())
                            : la.type == CUDA_R_16F  ? enqueue(onward::Float16(), float())
                            : la.type == CUDA_R_16BF ? enqueue(onward::BFloat16(), float())
                                                     : enqueue(float(), float());
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
