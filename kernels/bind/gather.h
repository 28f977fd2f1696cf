// The geometry of Gather.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// data as [outer, dim, inner] with the axis in the middle; the output as [outer, count, inner],
// `count` being the number of indices.
struct GatherSizes {
  int64_t outer = 0, dim = 0, inner = 0, count = 0;
};

// Keeps GatherSizes as the state and settles output 0. Inputs data, indices.
absl::Status BindGather(BindContext& context, int64_t axis);

}  // namespace onward::kernels
