// One product of cuBLASLt, or of one row by a kernel of our own: matrices of a float, row-major,
// several at equal distances. Those of 16 bits are summed in float32 and rounded once.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels::cuda {

// D[i] = alpha * op(A[i]) * op(B[i]) + residual[i] + bias, the negative ones 0 with `relu`; op(A)
// is m x k, op(B) is k x n, neither is empty.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  bool has_bias = false;      // n elements, added to every row
  bool has_residual = false;  // as D, which may be written over it
  bool relu = false;
  int32_t batches = 1;
  int64_t a_stride = 0, b_stride = 0;  // in elements from batch to batch; D's batches are dense
  // The alignment of the addresses of A, B and D, in bytes.
  uint32_t a_alignment = kTensorAlignment, b_alignment = kTensorAlignment;
  uint32_t d_alignment = kTensorAlignment;
};

struct ProductOperands {
  const void *a = nullptr, *b = nullptr, *bias = nullptr, *residual = nullptr;
  void* d = nullptr;
};

// The alignment of addresses that begin at a tensor and move by so many bytes.
uint32_t AlignmentOfSteps(int64_t bytes);

class LtProduct {
 public:
  LtProduct(DType dtype, Precision precision);

  // Bytes of scratch that Run takes.
  static int64_t scratch_bytes();
  // Asks cuBLASLt's heuristic. Unimplemented: dims that it has no algorithm for.
  absl::Status Choose(const Product& product, cublasLtMatmulAlgo_t* algorithm) const;
  // Puts the product on the stream. `algorithm`: chosen for it.
  absl::Status Run(const Product& product, const cublasLtMatmulAlgo_t& algorithm, double alpha,
                   const ProductOperands& operands, void* scratch, cudaStream_t stream) const;

 private:
  struct Descriptors;
  absl::Status Describe(const Product& product, const void* bias, Descriptors& out) const;

  DType dtype_;
  cudaDataType_t type_;
  cudaDataType_t scale_;  // of alpha and beta
  cublasComputeType_t compute_;
};

}  // namespace onward::kernels::cuda
