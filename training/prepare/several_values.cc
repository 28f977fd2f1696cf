#include "training/prepare/several_values.h"

#include "graph/ir/graph_edit.h"
#include "graph/ops/require.h"
#include "graph/rewrite/match.h"

namespace onward::training {
namespace {

bool AreAll(const Graph& graph, ValueId id, double value) {
  if (!graph.is_constant(id)) return false;
  const Tensor& tensor = *graph.constant(id);
  bool equal = true;
  const bool is_float = DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      equal &= static_cast<double>(tensor.data<T>()[i]) == value;
  });
  return is_float && equal;
}

// PyTorch's exporters write a group normalization as one of instances whose channels are the
// groups: [batch, groups, rest], without scale and bias of its own.
bool IsOfGroups(const Graph& graph, const Node& node) {
  return MadeBy(graph, node.inputs[0], "Reshape") != nullptr && AreAll(graph, node.inputs[1], 1) &&
         AreAll(graph, node.inputs[2], 0);
}

}  // namespace

void RequireSeveralValues(Graph& graph,
                          const std::function<bool(const Graph&, const Node&)>& frozen) {
  for (const NodeId id : graph.node_ids()) {
    Node& node = GraphEdit(graph).node(id);
    for (Subgraph& body : node.subgraphs) RequireSeveralValues(*body.graph, frozen);
    const bool instance = node.Is("InstanceNormalization");
    if ((!instance && !node.Is("GroupNormalization")) || frozen(graph, node)) continue;
    node.metadata[kSeveralValuesKey] =
        instance && IsOfGroups(graph, node) ? kSeveralValuesOfBatch : "";
  }
}

void AllowOneValue(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    Node& node = GraphEdit(graph).node(id);
    for (Subgraph& body : node.subgraphs) AllowOneValue(*body.graph);
    node.metadata.erase(kSeveralValuesKey);
  }
}

}  // namespace onward::training
