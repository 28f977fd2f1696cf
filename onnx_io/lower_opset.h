// Writes a graph of the newest opset in an older one. Exported models import the oldest
// opset that will do, since other runtimes follow the standard by months.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// No model is lowered beyond this opset of ai.onnx (IR 10) unless it is asked for.
inline constexpr int64_t kOldestExportedOpset = 21;
// The oldest that can be asked for.
inline constexpr int64_t kOldestLoweredOpset = 11;

// InvalidArgument for an opset that no model is written at.
absl::Status CheckExportedOpset(int64_t opset);

// The oldest opset of ai.onnx, from kOldestExportedOpset on, in which every node of the graph and
// its subgraphs means what it means now: the schema of that time takes the node, and no rule of the
// upgrade (onnx_io/upgrade) changes the meaning since.
int64_t OldestOpset(const Graph& graph);

// Rewrites the graph so that `opset` says what it computes: ops that came later become their
// function bodies, and the rules of lower_rules.h say the others as they were said. Schemas stay
// the newest. Unimplemented names every node that is in the way, with the reason.
absl::Status LowerGraph(Graph& graph, int64_t opset);

}  // namespace onward::onnx_io
