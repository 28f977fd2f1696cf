// One product of cuBLASLt, or of one row by a kernel of our own: matrices of a float, row-major,
// several at equal distances. Those of 16 bits are summed in float32 and rounded once.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/product.h"

namespace onward::kernels::cuda {

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
