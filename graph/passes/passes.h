// The passes themselves; pass.h has their contract, pipeline.cc their order.
#pragma once

#include "graph/passes/pass.h"

namespace onward {

// Portable.
// Evaluates nodes whose inputs are all constants.
absl::StatusOr<int> FoldConstants(Graph& graph, const PassOptions& options, int& budget);
// Removes nodes whose results nothing reads, captures that a body does not read, and optional
// outputs that nobody reads.
absl::StatusOr<int> EliminateDead(Graph& graph, const PassOptions& options, int& budget);

}  // namespace onward
