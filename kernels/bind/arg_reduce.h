// The geometry of ArgMax and ArgMin.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// data as [outer, count, inner] with the axis in the middle.
struct ArgPlan {
  int64_t outer = 1, count = 1, inner = 1;
};

// Keeps ArgPlan as the state and settles output 0. InvalidArgument: an axis without elements.
absl::Status BindArgReduce(BindContext& context, int64_t axis, bool keep_dims);

}  // namespace onward::kernels
