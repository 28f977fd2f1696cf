// The reverse walk itself, for whole graphs and for the bodies of control flow.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/expr.h"
#include "onward/gradient.h"

namespace onward::gradient {

// As AddGradients, but every target has a cotangent, types are not checked, and a value without a
// path to a target gets an omitted expression. New nodes go to the graph of `sink`.
absl::StatusOr<std::vector<Expr>> Differentiate(GraphSink& sink,
                                                absl::Span<const GradientTarget> targets,
                                                absl::Span<const ValueId> wrt,
                                                const GradientOptions& options);

// Removes nodes of which nobody reads an output: outputs of the graph and `keep` are read, and so
// is every value before `first_value`.
void RemoveUnread(Graph& graph, absl::Span<const ValueId> keep, int first_value);

}  // namespace onward::gradient
