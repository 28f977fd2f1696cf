// Ops without a gradient rule are differentiated through what they are made of.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::gradient {

// Every node on a path from `sources` to `targets` that has no gradient rule becomes its formula
// (onward/formula.h) or its schema's function body, and so on within those. Existing values
// keep their ids. Nodes that have neither are left as they are.
absl::Status ExpandWhereNoRule(Graph& graph, absl::Span<const ValueId> sources,
                               absl::Span<const ValueId> targets,
                               absl::Span<const ValueId> stop_at);

}  // namespace onward::gradient
