#include "training/source/folded_weights.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "onward/dtype.h"
#include "training/source/torch_export.h"
#include "training/source/torch_operands.h"

namespace onward::training {
namespace {

void AddFxNodes(const Graph& graph, std::set<std::string>& names) {
  for (const NodeId id : graph.node_ids()) {
    names.insert(FxNodeOf(graph.node(id)));
    for (const Subgraph& subgraph : graph.node(id).subgraphs) AddFxNodes(*subgraph.graph, names);
  }
}

// Returns whether operands of the source have no node left: the exporter's optimizer removed some.
bool IsOptimized(const Graph& graph, const TorchExport& exported) {
  std::set<std::string> made;
  AddFxNodes(graph, made);
  for (const std::string& operand : OperandNames(graph)) {
    if (!made.contains(operand) && exported.ValueName(operand).empty() &&
        !graph.FindValue(operand).valid() && !absl::StrContains(operand, "_graph_"))
      return true;
  }
  return false;
}

}  // namespace

FoldedWeights FindFoldedWeights(const Graph& graph, absl::Span<const std::string> initializers) {
  FoldedWeights found;
  const TorchExport exported(graph);
  if (!exported.speaks()) return found;
  std::set<std::string> present;
  bool optimized = IsOptimized(graph, exported);
  for (const std::string& name : initializers) {
    const ValueId id = graph.FindValue(name);
    if (!graph.is_constant(id)) continue;
    present.insert(name);
    const TorchInitializer about = exported.Find(graph, id);
    optimized |= about.kind == TorchKind::kFolded;
    present.insert(about.parameters.begin(), about.parameters.end());
    if (about.kind != TorchKind::kFolded || about.moved || graph.users(id).empty() ||
        !IsFloating(graph.constant(id)->dtype()))
      continue;
    found.computed.push_back({name, absl::StrJoin(about.parameters, "', '")});
  }
  for (const std::string& operand : OperandNames(graph)) {
    const std::string target = exported.Target(operand);
    if (exported.IsParameter(target) && !present.contains(target) &&
        !graph.FindValue(target).valid())
      found.left_out.push_back(target);
  }
  for (const std::string& name : exported.parameters()) {
    const bool listed =
        std::find(found.left_out.begin(), found.left_out.end(), name) != found.left_out.end();
    if (optimized && !listed && !present.contains(name) && !graph.FindValue(name).valid())
      found.absent.push_back(name);
  }
  return found;
}

}  // namespace onward::training
