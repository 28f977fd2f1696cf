// The product of one row and a matrix, as decoders have it: a pass over the matrix at the memory's
// rate.
#pragma once

#include <cuda_runtime.h>

#include "absl/status/status.h"
#include "kernels/cuda/product.h"

namespace onward::kernels::cuda {

inline bool IsRowProduct(const Product& product) { return product.m == 1 && product.batches == 1; }

// Puts it on the stream; IsRowProduct holds. Unimplemented: a dtype that is not a float.
absl::Status RunRowProduct(const Product& product, DType dtype, double alpha,
                           const ProductOperands& operands, cudaStream_t stream);

}  // namespace onward::kernels::cuda
