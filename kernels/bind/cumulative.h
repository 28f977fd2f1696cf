// The geometry of CumSum and CumProd. The axis lies on the host.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The input as [outer, count, inner] with the axis in the middle.
struct CumulativePlan {
  int64_t outer = 1, count = 1, inner = 1;
};

// Keeps CumulativePlan as the state and settles output 0, in place of the input; defers the node
// where the axis is not known yet.
absl::Status BindCumulative(BindContext& context);

}  // namespace onward::kernels
