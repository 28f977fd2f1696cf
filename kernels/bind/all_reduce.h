// AllReduce, as all providers bind it.
#pragma once

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Settles output 0, in place of the input.
absl::Status BindAllReduce(BindContext& context);

}  // namespace onward::kernels
