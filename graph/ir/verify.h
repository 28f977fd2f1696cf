// Invariants of a graph, checked after every pass.
#pragma once

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// Ids in range, one producer per value, no cycle, users lists right, captures matched, names unique
// and outputs named. Internal names the first breach: only a wrong pass can cause one.
absl::Status Verify(const Graph& graph);

}  // namespace onward
