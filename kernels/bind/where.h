// Where: geometry.
#pragma once

#include "absl/status/status.h"
#include "kernels/broadcast.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Sets the output, which may replace an X or Y of its size, and the state, a BroadcastLoop<3> over
// condition, X and Y.
// InvalidArgument: shapes that do not broadcast.
absl::Status BindWhere(BindContext& context);

}  // namespace onward::kernels
