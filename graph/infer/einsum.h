// Equations of Einsum that ONNX's inference function would not end on.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// InvalidArgument: the node is an Einsum of ai.onnx whose equation has a byte that is none of
// letters, '.', ',', "->" and spaces (the standard's Einsum).
absl::Status CheckEquation(const Node& node);

}  // namespace onward
