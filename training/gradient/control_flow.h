// The rules of loops, which are long.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onward/gradient.h"

namespace onward::gradient {

// The forward loop is replaced by one that also gives the states and the random draws that the
// gradient needs; the backward loop goes through them in reverse.
absl::StatusOr<std::vector<Expr>> LoopRule(const GradientScope& scope);
absl::StatusOr<std::vector<Expr>> ScanRule(const GradientScope& scope);

}  // namespace onward::gradient
