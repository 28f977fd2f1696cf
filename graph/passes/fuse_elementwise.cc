// Elementwise ops that read each other's results of one shape become one onward.Elementwise, for
// devices that compile a kernel for it. Results of one element that a group alone reads are
// computed with each of its elements.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/fused/elementwise_steps.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/passes/elementwise_groups.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"
#include "graph/rewrite/patch.h"
#include "onward/status.h"

namespace onward {

namespace {

constexpr size_t kMostNamed = 6;  // ops in the name of a group

// "Add+Mul+Tanh", and the name of the last node.
std::string NameOf(const Graph& graph, const ElementwiseGroup& group) {
  std::vector<std::string> ops;
  for (const NodeId id : group.nodes) ops.push_back(graph.node(id).op_type);
  if (ops.size() > kMostNamed) {
    ops.resize(kMostNamed);
    ops.emplace_back("...");
  }
  const std::string& last = graph.node(group.nodes.back()).name;
  return absl::StrCat(absl::StrJoin(ops, "+"), last.empty() ? "" : " ", last);
}

// The values that took the places of those that earlier groups made, by index.
using Replaced = std::map<int32_t, ValueId>;

Patch Fused(const Graph& graph, const ElementwiseGroup& group, Replaced& replaced) {
  Node node;
  for (const ValueId input : group.inputs) {
    const auto found = replaced.find(input.index);
    node.inputs.push_back(found == replaced.end() ? input : found->second);
  }
  std::vector<ValueId> values = node.inputs;
  const auto number = [&](ValueId value) {
    const auto found = std::find(values.begin(), values.end(), value);
    return value.valid() ? static_cast<int>(found - values.begin()) : -1;
  };
  std::vector<std::string> steps;
  std::vector<int64_t> results;
  for (const NodeId id : group.nodes) {
    const Node& member = graph.node(id);
    fused::ElementwiseStep step = {member.op_type, member.domain, member.attributes, {}};
    for (int i = 0; i < NumInputs(member); ++i)
      step.operands.push_back(number(member.inputs[static_cast<size_t>(i)]));
    steps.push_back(*fused::StepText(step));
    values.push_back(member.outputs[0]);
  }
  for (const ValueId output : group.outputs) results.push_back(number(output));
  node.op_type = fused::kElementwise;
  node.domain = kOnwardDomain;
  node.name = NameOf(graph, group);
  node.attributes = {{"steps", std::move(steps)}, {"results", std::move(results)}};
  Patch patch("fuse_elementwise", graph);
  const std::vector<ValueId> outputs =
      patch.AddNodeWithOutputs(std::move(node), static_cast<int>(group.outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    patch.Replace(group.outputs[i], outputs[i]);
    replaced[group.outputs[i].index] = outputs[i];
  }
  return patch;
}

// Nodes that draw numbers keep the streams of their places, which other devices know them by.
void NameStreams(Graph& graph) {
  const std::vector<NodeId> ids = graph.node_ids();
  for (size_t i = 0; i < ids.size(); ++i)
    if (IsRandom(graph.node(ids[i])))
      GraphEdit(graph).node(ids[i]).metadata.try_emplace(kStreamKey, absl::StrCat(i));
}

}  // namespace

absl::StatusOr<int> FuseElementwise(Graph& graph, const PassOptions&, int& budget) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  const std::vector<ElementwiseGroup> groups = FindElementwiseGroups(graph, order);
  if (!groups.empty() && budget > 0) NameStreams(graph);
  Replaced replaced;
  int applied = 0;
  for (const ElementwiseGroup& group : groups) {
    if (budget <= 0) break;
    ONWARD_RETURN_IF_ERROR(Apply(graph, Fused(graph, group, replaced)));
    --budget;
    ++applied;
  }
  return applied;
}

}  // namespace onward
