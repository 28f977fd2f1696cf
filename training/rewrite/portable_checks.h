// Shapes that a step relies on, checked by ops of the standard: for graphs that other runtimes run,
// which neither know onward.RequireShape nor hold names of dims against sizes.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::training {

// onward.RequireShape becomes such a check, in bodies too.
absl::Status CheckRequiredShapes(Graph& graph);

// Dims of inputs without a value that have one name are checked to be equal, as gradients and
// losses take them for equal.
absl::Status CheckNamedDims(Graph& graph);

}  // namespace onward::training
