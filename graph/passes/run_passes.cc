#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/verify.h"
#include "graph/passes/pass.h"
#include "onward/status.h"

namespace onward {

namespace {

absl::StatusOr<int> RunOnEveryGraph(Graph& graph, const Pass& pass, const PassOptions& options,
                                    int& budget) {
  int patches = 0;
  for (NodeId id : pass.in_bodies ? graph.node_ids() : std::vector<NodeId>()) {
    for (const Subgraph& body : graph.node(id).subgraphs) {
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

int PatchBudget(int stop_after_patches) {
  return stop_after_patches < 0 ? std::numeric_limits<int>::max() : stop_after_patches;
}

absl::StatusOr<std::vector<PassReport>> RunPasses(Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options) {
  int budget = PatchBudget(options.stop_after_patches);
  return RunPasses(graph, passes, options, budget);
}

absl::StatusOr<std::vector<PassReport>> RunPasses(Model& model, const std::vector<Pass>& passes,
                                                  const PassOptions& options) {
  int budget = PatchBudget(options.stop_after_patches);
  return RunPasses(model, passes, options, budget);
}

absl::StatusOr<std::vector<PassReport>> RunPasses(Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options, int& budget) {
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

absl::StatusOr<std::vector<PassReport>> RunPasses(Model& model, const std::vector<Pass>& passes,
                                                  const PassOptions& options, int& budget) {
  // By position: passes may make other values the outputs.
  const auto position = [](const std::vector<ValueId>& ids, ValueId id) {
    return static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
  };
  std::vector<std::pair<size_t, size_t>> updates;
  for (const UpdateBinding& update : model.updates) {
    updates.emplace_back(position(model.graph.inputs(), update.input),
                         position(model.graph.outputs(), update.output));
    if (updates.back().first == model.graph.inputs().size() ||
        updates.back().second == model.graph.outputs().size()) {
      return absl::InvalidArgumentError(
          "an update binding must name an input and an output of the graph");
    }
  }
  absl::StatusOr<std::vector<PassReport>> reports = RunPasses(model.graph, passes, options, budget);
  for (size_t i = 0; i < updates.size(); ++i) {
    model.updates[i] = {model.graph.inputs()[updates[i].first],
                        model.graph.outputs()[updates[i].second]};
  }
  return reports;
}

}  // namespace onward
