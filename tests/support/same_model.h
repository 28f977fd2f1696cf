// Comparison of models, for round trips through files.
#pragma once

#include <string>

#include "onward/graph.h"

namespace onward::testing {

// Empty when both graphs have the same inputs, outputs, nodes (in topological order, with
// attributes, subgraphs, documentation and metadata), constants (by bits) and types of named
// values; else the first difference in words. Constants that nothing uses do not count.
std::string GraphDifference(const Graph& a, const Graph& b);

// The same, and what the file says besides. The IR version is the writer's choice.
std::string ModelDifference(const Model& a, const Model& b);

}  // namespace onward::testing
