// Groups of elementwise ops, for fuse_elementwise.
#pragma once

#include <vector>

#include "onward/graph.h"

namespace onward {

struct ElementwiseGroup {
  std::vector<NodeId> nodes;     // in the order in which they are computed
  std::vector<ValueId> inputs;   // that none of the nodes makes
  std::vector<ValueId> outputs;  // that other nodes read, and the graph's; all of one shape
};

// Nodes that read each other's results of one shape, two and more a group. A group reads nothing
// that follows from its own results, groups among each other neither. `order`: all nodes of the
// graph, makers before readers.
std::vector<ElementwiseGroup> FindElementwiseGroups(const Graph& graph,
                                                    const std::vector<NodeId>& order);

}  // namespace onward
