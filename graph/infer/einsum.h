// The type that Einsum makes, in place of ONNX's inference function, which does not end on some
// bytes and knows neither axes of one element under a longer label nor ellipses of different ranks.
#pragma once

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward {

// Without a shape where the rank of an input is not known. InvalidArgument: the equation has a byte
// that is none of letters, '.', ',', "->" and spaces, or does not fit the inputs
// (graph/base/einsum_equation.h).
absl::StatusOr<Type> InferEinsum(const Graph& graph, const Node& node);

}  // namespace onward
