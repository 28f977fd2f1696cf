// The dims of EyeLike, and the element on its diagonal.
#pragma once

#include "absl/status/statusor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Settles output 0.
absl::Status BindEyeLike(BindContext& context);

// A 1 of the node's element type; Unimplemented where that is none of numbers and bool.
absl::StatusOr<Tensor> EyeLikeOne(const NodeSpec& spec);

}  // namespace onward::kernels
