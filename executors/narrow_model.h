// Models of bfloat16, whose products round nothing that the model does not.
#pragma once

#include "onward/graph.h"

namespace onward::executors {

// Returns whether the graph and its subgraphs have products, and all of them, those by the cost
// of graph/ops/facts.h, multiply bfloat16. The graph's types are inferred.
bool MultipliesBf16Alone(const Graph& graph);

}  // namespace onward::executors
