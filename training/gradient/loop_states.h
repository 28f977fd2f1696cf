// Shapes of the states of a Loop.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::gradient {

struct TypedBody {
  Graph graph;                  // the body with the states' types; its values have the same ids
  std::vector<bool> invariant;  // by state: a tensor of the same shape in every iteration
};

// `initial`: the states' types before the first iteration. `scope` makes symbols of sizes that are
// not known unique.
TypedBody FindStateTypes(const Graph& body, absl::Span<const Type> initial,
                         const std::string& scope);

}  // namespace onward::gradient
