// Predicates on the parts of normalizations.
#pragma once

#include <cstdint>

#include "onward/graph.h"

namespace onward {

// The first of the trailing axes that a ReduceMean or ReduceSum reduces, counted from the end (-1:
// the last); 0 when it is not that.
int64_t TrailingAxis(const Graph& graph, const Node& node);
// x of x * x or Pow(x, 2); invalid otherwise.
ValueId Squared(const Graph& graph, ValueId value);

}  // namespace onward
