// Replaces nodes by their formula or their schema's function body.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// Every node for which `has_kernel` is false and whose op has a formula (onward/formula.h)
// or whose schema has a function body becomes that body's nodes, recursively and in subgraphs. The
// new values have inferred types. Nodes without kernel and body are left as they are.
absl::Status ExpandFunctions(Graph& graph,
                             const std::function<bool(const Graph&, NodeId)>& has_kernel);

}  // namespace onward::onnx_io
