// Infers dims that ONNX's inference functions leave open.
#pragma once

#include <vector>

#include "onward/graph.h"

namespace onward {

// Completes `types`, the inferred types of the node's outputs: dims as expressions where ONNX's
// function left them unknown, and types of ops that have no function. Never contradicts what is
// there.
void FillTypes(const Graph& graph, NodeId id, const KnownElements& known, std::vector<Type>& types);

}  // namespace onward
