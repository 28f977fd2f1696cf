// Inference of all nodes of one graph.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// Every node in topological order, with `known` filled on the way.
absl::Status InferNodes(Graph& graph, KnownElements& known);

}  // namespace onward
