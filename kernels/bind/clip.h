// Clip: geometry.
#pragma once

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Sets the output, which may replace the input. InvalidArgument: a bound is not a scalar.
absl::Status BindClip(BindContext& context);

}  // namespace onward::kernels
