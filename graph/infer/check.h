// What a schema asks of a node before its inference function may look at it.
#pragma once

#include "absl/status/status.h"
#include "graph/ir/graph.h"

namespace onward {

// Numbers of inputs and outputs, required inputs and attributes, kinds of attributes, dtypes and
// their agreement. InvalidArgument, without the node's name.
absl::Status CheckAgainstSchema(const Graph& graph, NodeId id);

}  // namespace onward
