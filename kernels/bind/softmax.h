// The geometry of Softmax, LogSoftmax and Hardmax.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The input as [outer, count, inner] with the axis in the middle; a scalar is one row of one.
struct AxisSplit {
  int64_t outer = 1, count = 1, inner = 1;
};

// Keeps an AxisSplit as the state and gives output 0 the input's dims. InvalidArgument where the
// input has no such axis.
absl::Status BindSoftmax(BindContext& context, int64_t axis);

}  // namespace onward::kernels
