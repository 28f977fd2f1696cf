// Which provider runs each node, with a Copy node wherever a value crosses devices.
#pragma once

#include "absl/status/status.h"
#include "executors/provider.h"
#include "onward/graph.h"
#include "onward/kernel.h"

namespace onward {

// Sets Node::provider to `device`'s name where it has a kernel that takes the node, else to "cpu";
// subgraphs run on the host. Inputs and outputs of the graph are host values. Constants are copied
// once, when the program is compiled.
absl::Status Place(Graph& graph, const ExecutionProvider& device, const KernelOptions& options);

}  // namespace onward
