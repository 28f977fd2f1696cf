// Shapes that contradict each other where ONNX's inference functions do not look.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// Checks that the known dims of the node's inputs fit each other: labels of Einsum, channels of
// Conv, elements of Reshape, weights of normalizations and recurrences. InvalidArgument, without
// the node's name and types. Kernels check the same when they bind; a model that is written in C++
// is told at once.
absl::Status CheckShapes(const Graph& graph, NodeId id);

// "'x' float32[3,4], 'y' float32[5]": the first inputs of the node.
std::string InputTypes(const Graph& graph, const Node& node);

}  // namespace onward
