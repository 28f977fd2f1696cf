// Decides whether runs of one model can be joined along the first axis of its inputs.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// OK: the first dim of each input and output is one symbol, and row i of each output depends on row
// i of the inputs alone: other rows, their number and the row's place among them play no part.
// FailedPrecondition: names the first input, output or node of which this is not known. The graph's
// types are inferred.
absl::Status CheckRowsAreIndependent(const Graph& graph);

}  // namespace onward
