// Which nodes of a graph the device runs, and on which side their values lie.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "executors/plan/node_sides.h"
#include "executors/provider.h"
#include "onward/graph.h"
#include "onward/kernel.h"

namespace onward::executors {

// Decides without changing the graph. A node is the device's where it has a kernel that takes it,
// but for arithmetic of dims. If, Loop and Scan are the device's where a node of their bodies is;
// what they carry from turn to turn lies where it is made and read, and conditions on the host.
// `inputs`: where the graph's inputs lie.
absl::StatusOr<GraphSides> DecideSides(const Graph& graph, const std::vector<Side>& inputs,
                                       const ExecutionProvider& device,
                                       const KernelOptions& options);

}  // namespace onward::executors
