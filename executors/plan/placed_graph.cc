// A look at a graph that is placed.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "executors/plan/dim_arithmetic.h"
#include "executors/plan/place.h"
#include "graph/ops/onward_schemas.h"

namespace onward::executors {
namespace {

// `known`: captures that follow from dims.
void Count(const Graph& graph, bool is_body, std::set<int32_t> known, Crossings& crossings) {
  DimArithmetic of_dims(graph, std::move(known));
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    for (const Subgraph& subgraph : node.subgraphs) {
      std::set<int32_t> in_body;
      for (size_t c = 0; c < subgraph.captures.size(); ++c) {
        if (of_dims.Includes(subgraph.captures[c]))
          in_body.insert(subgraph.graph->captures()[c].index);
      }
      Count(*subgraph.graph, true, std::move(in_body), crossings);
    }
    if (!node.Is("Copy", kOnwardDomain)) {
      if (node.provider == "cpu" && of_dims.Includes(node)) of_dims.Add(node);
    } else if (!is_body && graph.is_input(node.inputs[0])) {
      ++crossings.inputs;
    } else if (!is_body && graph.is_output(node.outputs[0])) {
      ++crossings.outputs;
    } else if (!of_dims.Includes(node.inputs[0])) {
      ++(is_body ? crossings.in_bodies : crossings.within);
    }
  }
}

void CountHostNodes(const Graph& graph, std::map<std::string, int>& counts) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (node.provider == "cpu") ++counts[node.op_type];
    for (const Subgraph& subgraph : node.subgraphs) CountHostNodes(*subgraph.graph, counts);
  }
}

}  // namespace

Crossings CountCrossings(const Graph& graph) {
  Crossings crossings;
  Count(graph, false, {}, crossings);
  return crossings;
}

std::string HostNodesText(const Graph& graph) {
  std::map<std::string, int> counts;
  CountHostNodes(graph, counts);
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(sorted, ", ", absl::PairFormatter(" "));
}

}  // namespace onward::executors
