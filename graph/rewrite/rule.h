// Rules and the driver that applies them until none fires.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/rewrite/patch.h"

namespace onward {

// A local rewrite: looks at one node and may return a patch. It must make progress: a rule that
// fires on its own result for ever is stopped with an error.
struct Rule {
  std::string_view name;
  std::string_view op;  // the root op it looks at, "onward.FusedConv" outside ai.onnx; "" any
  std::optional<Patch> (*match)(const Graph& graph, NodeId root);
};

// Applies rules to one graph (not its subgraphs) until none fires or `budget` patches were applied;
// of the rules that fire on a node the first in order wins. `budget` is decremented per patch.
// Returns how many patches were applied. Internal: a rule's patch is wrong, or there is no fixed
// point.
absl::StatusOr<int> ApplyRules(Graph& graph, absl::Span<const Rule> rules, int& budget);

}  // namespace onward
