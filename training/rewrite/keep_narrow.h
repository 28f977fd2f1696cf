// Half the memory for activations: what the model has in 16 bits, and the CPU computes in float32
// (graph/passes/widen_floats.cc), is kept for the backward pass in 16 bits.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// For an optimised graph with gradients (SessionOptions::rewrite): values of the forward pass to
// `loss` that the rest of the graph reads only through ops that take them narrow
// (graph/gradients) are rounded as soon as they are made, as the model says; the forward pass goes
// on in float32. Before Recompute, so that what is computed again is rounded too.
absl::Status KeepNarrow(Graph& graph, ValueId loss);

}  // namespace onward
