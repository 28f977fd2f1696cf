// Ops that take the square matrices in the last two dims of their input one at a time.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// An output matrix for each input matrix, or one element.
enum class MatrixGives : uint8_t { kMatrix, kElement };

// Settles output 0. InvalidArgument for matrices that are not square.
absl::Status BindSquareMatrices(BindContext& context, MatrixGives gives);

}  // namespace onward::kernels
