// Products of matrices, row-major, several at equal distances.
#pragma once

#include <cstdint>

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

}  // namespace onward::kernels::cuda
