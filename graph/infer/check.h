// Checks a node against its schema before its inference function may look at it.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// Numbers of inputs and outputs, required inputs and attributes, kinds of attributes, dtypes and
// their agreement. InvalidArgument, without the node's name.
absl::Status CheckAgainstSchema(const Graph& graph, NodeId id);

// Checks that the types of all inputs are known as far as the schema looks at them, as kernels
// take for granted. InvalidArgument, without the node's name.
absl::Status CheckInputsAreKnown(const Graph& graph, NodeId id);

// Gives inferred types the dtype of the input that fixes their type parameter, or the only one that
// the schema allows: some inference functions return that of another input, or none.
void CorrectDTypes(const Graph& graph, const Node& node, std::vector<Type>& outputs);

// The outputs' types, inferred or declared by the model, against the schema: a kernel writes what
// the schema says. InvalidArgument, without the node's name.
absl::Status CheckOutputTypes(const Graph& graph, NodeId id);

}  // namespace onward
