// The geometry of ReluGradient and ClipGradient.
#pragma once

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Gives output 0 the dims of the activation's value, in place of dY. InvalidArgument: dY of other
// dims, a bound that is not a scalar.
absl::Status BindActivationGradient(BindContext& context);

}  // namespace onward::kernels
