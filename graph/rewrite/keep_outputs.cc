#include "graph/rewrite/keep_outputs.h"

#include <utility>

#include "graph/ir/graph_edit.h"
#include "onward/status.h"

namespace onward {
namespace {

class Mover {
 public:
  explicit Mover(Graph& from)
      : from_(from),
        needed_(static_cast<size_t>(from.num_values()), false),
        to_(static_cast<size_t>(from.num_values())) {
    made_.name = std::move(from.name);
    made_.doc_string = std::move(from.doc_string);
    made_.metadata = std::move(from.metadata);
  }

  absl::Status Run(absl::Span<const ValueId> outputs) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, from_.TopologicalOrder());
    Need(outputs);
    std::vector<NodeId> nodes;  // the last one first
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = from_.node(*id);
      bool wanted = false;
      for (const ValueId output : node.outputs) wanted |= output.valid() && needed(output);
      if (!wanted) continue;
      nodes.push_back(*id);
      Need(node.inputs);
      for (const Subgraph& subgraph : node.subgraphs) Need(subgraph.captures);
    }
    for (const ValueId id : from_.inputs()) Move(id, &GraphEdit::AddInput);
    for (const ValueId id : from_.captures()) Move(id, &GraphEdit::AddCapture);
    for (int i = 0; i < from_.num_values(); ++i) {
      const ValueData& value = from_.value({i});
      if (needed({i}) && !value.producer.valid() && !moved({i}).valid())
        Move({i}, &GraphEdit::AddValue);
    }
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) MoveNode(*id);
    for (const ValueId id : outputs) GraphEdit(made_).AddOutput(moved(id));
    return absl::OkStatus();
  }

  Graph&& graph() { return std::move(made_); }
  std::vector<ValueId>&& to() { return std::move(to_); }

 private:
  bool needed(ValueId id) const { return needed_[static_cast<size_t>(id.index)]; }
  ValueId& moved(ValueId id) { return to_[static_cast<size_t>(id.index)]; }
  void Need(absl::Span<const ValueId> ids) {
    for (const ValueId id : ids) {
      if (id.valid()) needed_[static_cast<size_t>(id.index)] = true;
    }
  }

  void Move(ValueId id, ValueId (GraphEdit::*add)(std::string, Type)) {
    GraphEdit from(from_), made(made_);
    const ValueId to = (made.*add)(from_.value(id).name, std::move(from.type(id)));
    moved(id) = to;
    made.constant(to) = std::move(from.constant(id));
    made.doc_string(to) = std::move(from.doc_string(id));
    made.metadata(to) = std::move(from.metadata(id));
  }

  void MoveNode(NodeId id) {
    Node node = std::move(GraphEdit(from_).node(id));
    for (const ValueId output : node.outputs) {
      if (output.valid()) Move(output, &GraphEdit::AddValue);
    }
    const auto map_all = [&](std::vector<ValueId>& ids) {
      for (ValueId& each : ids) {
        if (each.valid()) each = moved(each);
      }
    };
    map_all(node.inputs);
    map_all(node.outputs);
    for (Subgraph& subgraph : node.subgraphs) map_all(subgraph.captures);
    GraphEdit(made_).AddNode(std::move(node));
  }

  Graph& from_;
  Graph made_;
  std::vector<bool> needed_;
  std::vector<ValueId> to_;
};

}  // namespace

absl::StatusOr<Graph> KeepOutputs(Graph graph, absl::Span<const int> kept,
                                  std::vector<ValueId>* moved) {
  std::vector<ValueId> outputs;
  for (const int position : kept) outputs.push_back(graph.outputs()[static_cast<size_t>(position)]);
  return KeepValues(std::move(graph), outputs, moved);
}

absl::StatusOr<Graph> KeepValues(Graph graph, absl::Span<const ValueId> kept,
                                 std::vector<ValueId>* moved) {
  Mover mover(graph);
  ONWARD_RETURN_IF_ERROR(mover.Run(kept));
  if (moved != nullptr) *moved = mover.to();
  return mover.graph();
}

}  // namespace onward
