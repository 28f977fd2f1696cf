#include <algorithm>

#include "graph/ir/graph_edit.h"
#include "graph/passes/passes.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward {

namespace {

bool Unread(const Graph& graph, ValueId id) {
  return graph.users(id).empty() && !graph.is_output(id);
}

// The last node that nothing needs comes first.
std::vector<NodeId> DeadNodes(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<bool> needed(static_cast<size_t>(graph.num_values()), false);
  for (ValueId id : graph.outputs()) needed[static_cast<size_t>(id.index)] = true;
  std::vector<NodeId> dead;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph.node(*it);
    const bool alive = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id.valid() && needed[static_cast<size_t>(id.index)];
    });
    if (!alive) {
      dead.push_back(*it);
      continue;
    }
    for (ValueId id : node.inputs) {
      if (id.valid()) needed[static_cast<size_t>(id.index)] = true;
    }
    for (const Subgraph& body : node.subgraphs) {
      for (ValueId id : body.captures) needed[static_cast<size_t>(id.index)] = true;
    }
  }
  return dead;
}

int DropUnreadCaptures(Graph& graph, NodeId id) {
  int dropped = 0;
  for (size_t s = 0; s < graph.node(id).subgraphs.size(); ++s) {
    const Graph& body = *graph.node(id).subgraphs[s].graph;
    for (int i = static_cast<int>(body.captures().size()) - 1; i >= 0; --i) {
      if (!Unread(body, body.captures()[static_cast<size_t>(i)])) continue;
      GraphEdit(graph).RemoveCapture(id, static_cast<int>(s), i);
      ++dropped;
    }
  }
  return dropped;
}

int OmitUnreadOutputs(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.schema == nullptr) return 0;
  // The standard wants the running statistics of a BatchNormalization in training, read or not.
  if (node.Is("BatchNormalization") && node.attributes.Int("training_mode", 0) != 0) return 0;
  const auto& formal = node.schema->outputs();
  int omitted = 0;
  for (int i = static_cast<int>(node.outputs.size()) - 1; i > 0; --i) {
    // Omitting an output drops those behind it too when they are omitted.
    if (static_cast<size_t>(i) >= node.outputs.size()) continue;
    const ValueId output = node.outputs[static_cast<size_t>(i)];
    if (!output.valid() || static_cast<size_t>(i) >= formal.size() || !Unread(graph, output) ||
        formal[static_cast<size_t>(i)].GetOption() != onnx::OpSchema::Optional) {
      continue;
    }
    GraphEdit(graph).OmitOutput(id, i);
    ++omitted;
  }
  return omitted;
}

// Gives back the memory of constants that nothing reads; their ids stay.
void DropUnreadConstants(Graph& graph) {
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueId id{i};
    if (graph.is_constant(id) && Unread(graph, id) && !graph.is_input(id)) {
      GraphEdit(graph).constant(id).reset();
    }
  }
}

}  // namespace

absl::StatusOr<int> EliminateDead(Graph& graph, const PassOptions&, int& budget) {
  if (budget <= 0) return 0;
  int changes = 0;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  for (NodeId id : order) changes += DropUnreadCaptures(graph, id);
  Patch patch("eliminate_dead", graph);
  for (NodeId id : DeadNodes(graph, order)) patch.Remove(id);
  if (!patch.empty()) {
    ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
    ++changes;
  }
  for (NodeId id : graph.node_ids()) changes += OmitUnreadOutputs(graph, id);
  DropUnreadConstants(graph);
  if (changes == 0) return 0;
  --budget;
  return 1;
}

}  // namespace onward
