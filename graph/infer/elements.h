// Elements of small integer values as dims, so that shapes computed in a graph stay symbolic.
#pragma once

#include <optional>

#include "onward/graph.h"

namespace onward {

// For a sequence, `known` holds one element: its length.
//
// Elements of a constant or of a value that `known` holds, in row-major order; each is a number of
// any sign (DimNumber), an expression, or unknown. Nullopt when nothing is known. Constants count
// when they have at most kMaxInferredElements elements, all integral.
std::optional<SymbolicDims> ElementsOf(const Graph& graph, ValueId id, const KnownElements& known);

}  // namespace onward
