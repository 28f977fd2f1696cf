// Sequences whose elements are known by position are not sequences at all.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::gradient {

// Exporters write a split as SplitToSequence with a SequenceAt for each part. Where sizes and
// positions are constants, these become Split, so that the gradient is one Concat instead of as
// many sequences of zeros as there are parts; elements of a SequenceConstruct are its inputs, and
// their ConcatFromSequence is Concat. Existing tensors keep their ids. Linear in the graph.
absl::Status ResolveStaticSequences(Graph& graph);

}  // namespace onward::gradient
