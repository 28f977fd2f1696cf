// Half the memory for activations: what the model has in 16 bits, and the CPU computes in float32
// (graph/passes/widen_floats.cc), is kept for the backward pass in 16 bits.
#pragma once

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::training {

// For an optimised graph with gradients (CompileHooks::late_passes): values of the forward pass to
// `loss` that the rest of the graph reads only through ops that take them narrow
// (graph/gradients) are rounded as soon as they are made, as the model says; the forward pass goes
// on in float32. Before Recompute, so that what is computed again is rounded too.
// `budget` as a pass's: each rounded value is a patch; returns how many there are.
absl::StatusOr<int> KeepNarrow(Graph& graph, ValueId loss, int& budget);

}  // namespace onward::training
