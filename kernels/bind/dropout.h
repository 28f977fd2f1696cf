// Dropout, as all providers bind it. ratio and training_mode lie on the host.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The types of data and ratio.
using DropoutTypes =
    Concat<FloatTypes, TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>>;

// Returns false where the node's training_mode is false in all runs.
bool MayDrop(const NodeSpec& spec);

// Gives output and mask the dims of the input. A node that never drops shares the input's memory.
absl::Status BindDropout(BindContext& context, bool may_drop);

// The ratio of a run, 0 where it does not train. InvalidArgument outside of [0, 1).
absl::StatusOr<double> DropoutRatio(const RunContext& context, bool may_drop);

}  // namespace onward::kernels
