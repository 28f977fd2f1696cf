// The geometry of MatMulInteger and QLinearMatMul.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/kernel.h"

namespace onward::kernels {

// MatMulGeometry, kept in a binding.
struct QuantizedProduct {
  int64_t m, n, k, batches;
  absl::Span<int64_t> batch, a_strides, b_strides;
};

// Keeps QuantizedProduct as the state and settles output 0. Inputs 0 and `b_input`: the operands.
absl::Status BindQuantizedProduct(BindContext& context, int b_input);

// InvalidArgument: the input `index`, a scale or zero point of the operand, does not have a value
// for the tensor, for each row of A or for each column of B, with or without the batch axes.
absl::Status CheckLineValues(const BindContext& context, int index, const char* name,
                             DimsView operand, bool is_a);
// InvalidArgument: it has more than one value.
absl::Status CheckOneValue(const BindContext& context, int index, const char* name);

// Binds MatMulInteger. Inputs a, b, a_zero_point, b_zero_point.
absl::Status BindMatMulInteger(BindContext& context);

// Binds QLinearMatMul. Inputs: a, its scale and zero point, the same of b, the same of y.
absl::Status BindQLinearMatMul(BindContext& context);

}  // namespace onward::kernels
