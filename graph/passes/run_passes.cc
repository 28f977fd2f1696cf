#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "graph/ir/verify.h"
#include "graph/passes/pass.h"

namespace onward {

namespace {

absl::StatusOr<int> RunOnEveryGraph(Graph& graph, const Pass& pass, const PassOptions& options,
                                    int& budget) {
  int patches = 0;
  for (NodeId id : graph.node_ids()) {
    for (Subgraph& body : graph.mutable_node(id).subgraphs) {
      if (budget <= 0) return patches;
      ONWARD_ASSIGN_OR_RETURN(const int applied,
                              RunOnEveryGraph(*body.graph, pass, options, budget));
      patches += applied;
    }
  }
  if (budget <= 0) return patches;
  ONWARD_ASSIGN_OR_RETURN(const int applied, pass.run(graph, options, budget));
  return patches + applied;
}

}  // namespace

absl::StatusOr<std::vector<PassReport>> RunPasses(Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options) {
  int budget =
      options.stop_after_patches < 0 ? std::numeric_limits<int>::max() : options.stop_after_patches;
  std::vector<PassReport> reports;
  for (const Pass& pass : passes) {
    const std::string context = absl::StrCat("pass ", std::string(pass.name), ": ");
    absl::StatusOr<int> patches = RunOnEveryGraph(graph, pass, options, budget);
    if (!patches.ok()) return Annotate(patches.status(), context);
    if (options.verify && *patches > 0) {
      if (const absl::Status status = Verify(graph); !status.ok()) return Annotate(status, context);
    }
    reports.push_back({std::string(pass.name), *patches});
  }
  return reports;
}

}  // namespace onward
