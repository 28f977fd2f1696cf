// Small values of integers and bools that the host alone reads, as the condition of an If by a
// number among the inputs: it may as well compute them.
#pragma once

#include "absl/types/span.h"
#include "executors/plan/node_sides.h"
#include "onward/graph.h"

namespace onward::executors {

// The sides of a node that the host runs, bodies included.
NodeSides OnHost(const Node& node);

// Gives those nodes of a decided graph to the host whose results only the host reads and whose
// inputs it has, all of them small: the device would compute them to send them back, and the run
// would wait for it. `order`: topological.
void KeepOnHost(const Graph& graph, absl::Span<const NodeId> order, GraphSides& sides);

}  // namespace onward::executors
