// Dims as model files spell them.
#pragma once

#include "onward/graph.h"

namespace onward {

// Brings the dims of all values, subgraphs' included, into canonical form (see dim.h). What looks
// like an expression is one only if its symbols are sizes of inputs by themselves: "past + 1" where
// some input has the dim "past". Other texts ("?", "batch-size") say nothing: the dim is unknown.
void CanonicalizeDims(Graph& graph);

}  // namespace onward
