// Runs one node on constants, for constant folding and for tests.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/kernel.h"

namespace onward::executors {

// Every input of the node must be a constant with data and the node must have no subgraph. Runs the
// first CPU kernel that takes it, in the calling thread. Omitted outputs are empty tensors.
// Unimplemented: no kernel, or a result is not a tensor.
absl::StatusOr<std::vector<Tensor>> EvaluateOnCpu(const Graph& graph, NodeId id,
                                                  const KernelOptions& options = {});

}  // namespace onward::executors
