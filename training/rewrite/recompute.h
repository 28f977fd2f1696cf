// Less memory for more time: parts of the forward pass are computed again in the backward pass, in
// place of keeping what they make (Chen et al., "Training Deep Nets with Sublinear Memory Cost",
// 2016). Results are the same bits: masks of Dropout are drawn again as they were.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/passes/pass.h"
#include "onward/graph.h"

namespace onward::training {

// Nodes of the forward pass that are computed again together.
using Segment = std::vector<NodeId>;

// The nodes that `loss` depends on, in topological order.
absl::StatusOr<std::vector<NodeId>> ForwardNodes(const Graph& graph, ValueId loss);

// One segment per pattern (graph/base/name_pattern.h): the forward nodes whose name or one of whose
// outputs' names matches. InvalidArgument: a pattern that matches none.
absl::StatusOr<std::vector<Segment>> NamedSegments(const Graph& graph, ValueId loss,
                                                   absl::Span<const std::string> patterns);

// The forward nodes in `count` parts of about as many kept bytes each, cut where little crosses;
// dims that are not known count as 32.
absl::StatusOr<std::vector<Segment>> EvenSegments(const Graph& graph, ValueId loss, int count);

// For an optimised graph with gradients (CompileHooks::late_passes; other passes would take the
// copies for common subexpressions, and fuse what they now may): whatever reads a value of a
// segment and is not part of the forward pass reads it from a copy of the segment, which waits
// until the backward pass comes there. Nodes that draw numbers without a stream of their own and
// nodes with bodies stay as they are. `budget` as a pass's: each segment is a patch; returns how
// many were copied.
absl::StatusOr<int> Recompute(Graph& graph, ValueId loss, absl::Span<const Segment> segments,
                              int& budget);

// The same of `patterns` or, when there are none, of `count` even segments, as a pass on a graph
// whose loss is its output number `loss_output`.
Pass RecomputePass(size_t loss_output, std::vector<std::string> patterns, int count);

}  // namespace onward::training
