// The geometry of TensorScatter.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The cache as [batch, outer, dim, inner] with the axis at `dim`, the update as [batch, outer,
// steps, inner].
struct TensorScatterSizes {
  int64_t batch = 0, outer = 0, dim = 0, steps = 0, inner = 0;
};

// Keeps TensorScatterSizes as the state and settles output 0, which may overwrite the cache. Inputs
// past_cache, update, write_indices.
absl::Status BindTensorScatter(BindContext& context, int64_t axis);

// Attribute "mode": true for "circular". InvalidArgument: another one.
absl::StatusOr<bool> IsCircular(const NodeSpec& spec);

}  // namespace onward::kernels
