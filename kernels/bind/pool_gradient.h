// The geometry of MaxPoolGradient.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/bind/pool.h"

namespace onward::kernels {

// Gives output 0 the dims of X. InvalidArgument: dY of other dims than the pool's output.
// Unimplemented: a plane whose places take more than 31 bits.
absl::StatusOr<PoolGeometry> BindMaxPoolGradient(BindContext& context,
                                                 const PoolAttributes& attributes);

}  // namespace onward::kernels
