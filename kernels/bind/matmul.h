// Shapes of MatMul, Gemm and onward.FusedMatMul.
#pragma once

#include "absl/status/statusor.h"
#include "onward/kernel.h"
#include "onward/shape.h"

namespace onward::kernels {

// Y[b] = A[b] * B[b] over broadcast batches: A[b] is m x k, B[b] is k x n, all row-major. Batch
// axes that can be are joined: most products have none (B shared: its batch is folded into m) or
// one.
struct MatMulGeometry {
  Dims output;  // 1-D operands: without their axis
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  Dims batch;      // joined batch axes, outermost first
  Dims a_strides;  // in elements per batch axis; 0 where A is broadcast
  Dims b_strides;

  int64_t num_batches() const { return NumElements(batch); }
};

// NumPy's matmul. InvalidArgument: a scalar, unequal inner dims, batches that do not broadcast.
absl::StatusOr<MatMulGeometry> MatMulDims(DimsView a, DimsView b);

// The offset in elements of batch `index` for the strides of one operand.
inline int64_t BatchOffset(DimsView batch, DimsView strides, int64_t index) {
  int64_t offset = 0;
  for (size_t i = batch.size(); i-- > 0;) {
    offset += index % batch[i] * strides[i];
    index /= batch[i];
  }
  return offset;
}

// The attributes of onward.FusedMatMul but its activation; MatMul has none of them set.
struct FusedMatMulAttributes {
  bool trans_a = false;
  bool trans_b = false;
  float alpha = 1.0f;

  static FusedMatMulAttributes Parse(const NodeSpec& spec);
};

// Binds MatMul or onward.FusedMatMul: sets output 0, which may be written over the residual, and
// returns the product of the operands as they are multiplied, the dims of transposed ones swapped.
// InvalidArgument: as MatMulDims, a transposed operand that is not a matrix, or a bias or residual
// that does not fit.
absl::StatusOr<MatMulGeometry> BindFusedMatMul(BindContext& context,
                                               const FusedMatMulAttributes& attributes);

struct GemmAttributes {
  float alpha = 1.0f;
  float beta = 1.0f;
  bool trans_a = false;
  bool trans_b = false;

  static GemmAttributes Parse(const NodeSpec& spec);
};

// Y = alpha * op(A) * op(B) + beta * C; op(A) is m x k, op(B) is k x n, C is read with the given
// strides.
struct GemmGeometry {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t c_row_stride = 0;
  int64_t c_column_stride = 0;
};

// Returns the geometry of inputs A, B and, where it is given, C.
absl::StatusOr<GemmGeometry> GemmDims(const GemmAttributes& attributes, const BindContext& context);

}  // namespace onward::kernels
