// Stochastic gradient descent as nodes of the graph.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace onward {

// For each parameter (a constant of the model) adds `parameter - rate * gradient` as an output
// "next/<name>" and an update binding; the parameter becomes an input whose default is its present
// value. `gradients` are in the order of `parameters`.
absl::Status AddSgd(Model& model, absl::Span<const ValueId> parameters,
                    absl::Span<const ValueId> gradients, float rate);

}  // namespace onward
