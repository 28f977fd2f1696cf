// The types of Cast and BitCast.
#pragma once

#include "absl/status/statusor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Attribute "to"; InvalidArgument unless it is an element type.
absl::StatusOr<DType> CastTarget(const NodeSpec& spec);

// InvalidArgument: a string, or elements of another size than those of input 0.
absl::Status CheckBitCast(const NodeSpec& spec);

// Settles output 0 as the bits of input 0, in its memory where that is possible.
absl::Status BindSameBits(BindContext& context);

}  // namespace onward::kernels
