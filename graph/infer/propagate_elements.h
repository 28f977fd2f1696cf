// Elements of small integer values, from node to node.
#pragma once

#include "onward/graph.h"

namespace onward {

// Records what is known of the elements of the node's outputs.
void PropagateElements(const Graph& graph, NodeId id, KnownElements& known);

}  // namespace onward
