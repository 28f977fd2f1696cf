// A stable text dump of a graph, for tests and bug reports.
#pragma once

#include <string>

#include "onward/graph.h"

namespace onward {

// One line per value in a fixed order:
//   graph "name" (x: float32[batch,3]) {
//     const w: float32[3,4]
//     y: float32[batch,4] = MatMul(x, w)  # name, attributes in alphabetical order
//     return y
//   }
std::string Print(const Graph& graph);

}  // namespace onward
