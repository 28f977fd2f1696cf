// A graph with fewer outputs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward {

// `graph` with the outputs at the positions `kept`, in that order, every input, and what they need:
// other nodes and constants fall. Ids change: `moved`, when given, is old value index -> new id.
// InvalidArgument: the graph has a cycle.
absl::StatusOr<Graph> KeepOutputs(Graph graph, absl::Span<const int> kept,
                                  std::vector<ValueId>* moved = nullptr);

// The same with these values of the graph as its outputs, whether they are outputs or not.
absl::StatusOr<Graph> KeepValues(Graph graph, absl::Span<const ValueId> kept,
                                 std::vector<ValueId>* moved = nullptr);

}  // namespace onward
