// How old an opset may say what a graph of the newest opset says. Exported models import the oldest
// opset that will do, since other runtimes follow the standard by months.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

// No model is lowered beyond this opset of ai.onnx (IR 10).
inline constexpr int64_t kOldestExportedOpset = 21;

// The oldest opset of ai.onnx, from kOldestExportedOpset on, in which every node of the graph and
// its subgraphs means what it means now: the schema of that time takes the node, and no rule of the
// upgrade (onnx_io/upgrade) changes the meaning since.
int64_t OldestOpset(const Graph& graph);

// OK when OldestOpset(graph) <= opset; else Unimplemented naming every node that is in the way.
absl::Status CheckFitsOpset(const Graph& graph, int64_t opset);

}  // namespace onward
