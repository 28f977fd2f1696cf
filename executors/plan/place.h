// Which provider runs each node, with a Copy node wherever a value crosses devices.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "executors/provider.h"
#include "onward/graph.h"
#include "onward/kernel.h"

namespace onward::executors {

// Values of inputs and captures that lie on the device have its name under this key.
inline constexpr char kDeviceKey[] = "onward.device";

// Sets Node::provider to `device`'s name where it has a kernel that takes the node, else to "cpu",
// in bodies of If, Loop and Scan as well; what runs in other bodies is left as it is, and runs on
// the host. Inputs and outputs of the graph are host values but for those whose names are among
// `device_values`. Constants are copied once, when the program is compiled.
absl::Status Place(Graph& graph, const ExecutionProvider& device, const KernelOptions& options,
                   const std::vector<std::string>& device_values = {});

// The values of a placed graph that Copy nodes bring from one side to the other.
struct Crossings {
  int inputs = 0;  // of the graph
  int outputs = 0;
  int within = 0;     // others: each costs a run a wait for the device
  int in_bodies = 0;  // in each turn
};
// Values that follow from dims alone are sent once for a set of input shapes, and do not count.
Crossings CountCrossings(const Graph& graph);

// The nodes of a placed graph that run on the host, by op, as "Softmax 3, Gather 1"; "": there are
// none.
std::string HostNodesText(const Graph& graph);

}  // namespace onward::executors
