// The geometry of TopK. K lies on the host.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The input as [outer, dim, inner] with the axis in the middle; lines of k are kept.
struct TopKPlan {
  int64_t outer = 0, dim = 0, inner = 0, k = 0;

  ONWARD_HOST_DEVICE int64_t lines() const { return outer * inner; }
};

// Keeps TopKPlan as the state, settles both outputs and returns the plan; defers the node, and
// returns null, where K is not known yet.
absl::StatusOr<const TopKPlan*> BindTopK(BindContext& context, int64_t axis);

}  // namespace onward::kernels
