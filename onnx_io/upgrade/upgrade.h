// Upgrades every node to the one opset used inside (kOpset, kMlOpset of onnx_io/import.h): one rule
// per change of an op's meaning.
#pragma once

#include "absl/status/status.h"
#include "graph/ir/graph.h"

namespace onward {

// The importer calls this on the whole graph, subgraphs included, after model-local functions are
// spliced in. Until then `node.schema` is the schema of the node's own opset (a function's may
// differ from its model's), so `schema->since_version()` is the version whose meaning the node has.
// Types are inferred beforehand, as far as they can be, so a rule may read ranks. Afterwards every
// node with a schema has the newest one and its meaning. Errors name every node that cannot be
// upgraded.
absl::Status UpgradeGraph(Graph& graph);

}  // namespace onward
