// Types of values by ONNX's own inference functions, with propagation of small integer tensors
// (shapes computed in the graph), so that Reshape's target or Expand's size resolve to symbols.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// Sets the types of the node's outputs from its inputs' types. Errors are annotated with the node.
// A more precise type that an output already has is kept where inference knows less; a
// contradiction is InvalidArgument.
absl::Status InferNode(Graph& graph, NodeId id, KnownElements* known = nullptr);

// Every node in topological order, subgraphs included. Brings the dims of a model file into
// canonical form first, and gives unknown dims of inputs a name.
absl::Status InferGraph(Graph& graph);

// The same, but continues after an error and returns all of them. What follows a bad node has
// unknown types and is passed over. With `shapes_are_hints` the inferred shape is taken where the
// file declares another one.
std::vector<absl::Status> InferGraphReportingAll(Graph& graph, bool shapes_are_hints);

}  // namespace onward
