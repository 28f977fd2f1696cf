// The attributes that say how windows lie (convolutions, pools), where types are open too.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// Lists that are there and not empty have an element for each spatial axis (pads: two), those of
// windows are positive. InvalidArgument, without the node's name. OK for other ops.
absl::Status CheckWindows(const Graph& graph, const Node& node);

}  // namespace onward
