// Upgrades every node to the one opset used inside (kOpset, kMlOpset of graph/ops/opset.h): one
// rule per change of an op's meaning.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// The importer calls this on the whole graph, subgraphs included, after model-local functions are
// spliced in. Until then `node.schema` is the schema of the node's own opset (a function's may
// differ from its model's), so `schema->since_version()` is the version whose meaning the node has.
// Types are inferred beforehand, as far as they can be, so a rule may read ranks. Afterwards every
// node with a schema has the newest one and its meaning. Returns whether types are to be inferred
// again: nodes were added, got a schema, or have one that gives other sizes. Errors name every node
// that cannot be upgraded.
absl::StatusOr<bool> UpgradeGraph(Graph& graph);

// Returns whether a node is upgraded although its schema is deprecated or, with null `schema`, the
// registry has none for it in `opset`: ops that were renamed or corrected, experiments of opsets 1
// to 9, and ops that ONNX Runtime writes in the standard's domain.
bool UpgradesRemovedOp(std::string_view domain, std::string_view op, int64_t opset,
                       const onnx::OpSchema* schema);

}  // namespace onward::onnx_io
