// The standard's Gradient operator (ai.onnx.preview.training).
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::training {

bool IsGradient(std::string_view domain, std::string_view op);

// Replaces every Gradient node of the main graph by the nodes that compute it. The gradient of a
// `y` of several elements is that of their sum; a Gradient may differentiate what another one
// gives. To be called before the graph is optimised, as the node names tensors by their names.
// InvalidArgument: a name that the graph does not have. Unimplemented: inputs that are not the
// tensors that xs and zs name, an op without gradient rule.
absl::Status ExpandGradientNodes(Graph& graph);

}  // namespace onward::training
