// The geometry of onward.AttentionGradient, for all providers.
#pragma once

#include "kernels/bind/attention.h"

namespace onward::kernels {

namespace attention_gradient {
enum Input { kQ, kK, kV, kDy, kMask, kNonpad };
enum Output { kDq, kDk, kDv };
}  // namespace attention_gradient

// Checks the inputs of the node that `context` binds, sets its outputs and returns the sizes; dY
// lies as Y.
absl::StatusOr<AttentionGeometry> BindAttentionGradient(const AttentionAttributes& attributes,
                                                        BindContext& context);

}  // namespace onward::kernels
