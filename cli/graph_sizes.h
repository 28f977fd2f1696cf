// Sizes for the symbols of a model's inputs, and what the model needs with them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/infer/cost.h"
#include "onward/graph.h"

namespace onward::cli {

// Gives the inputs that `shapes` ("image=8x3x224x224") name these dims, and everything in the graph
// what follows from them. InvalidArgument: no such input (with the closest name), dims that do not
// fit it.
absl::StatusOr<SymbolSizes> ApplyShapes(const std::vector<std::string>& shapes, Graph& graph);

// Symbols that the types of the graph's inputs have and `sizes` has not.
std::vector<std::string> SymbolsWithoutSize(const Graph& graph, const SymbolSizes& sizes);

// The peak of the bytes of activations that are alive at once, in the order of the file: of models
// that cannot be compiled (see PlanRun). Symbols without a size count as 1.
int64_t PeakActivationBytes(const Graph& graph, const SymbolSizes& sizes);

// "batch = 1, sequence = 1".
std::string TakenAsOne(const std::vector<std::string>& symbols);

}  // namespace onward::cli
