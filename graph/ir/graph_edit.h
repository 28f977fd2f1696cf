// The one way to change a graph: Graph itself has no mutators. A patch (graph/rewrite/patch.h) is
// the edit that keeps what a graph computes and checks that it does; those who make graphs or give
// them another meaning (the importer, sinks of expressions, the rewrites of a training step) edit
// directly. tests/style holds the list of the rooms that may.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onward/graph.h"

namespace onward {

// Calls f(value) for every value that the node reads, as an input or a capture.
template <typename F>
void ForEachRead(const Node& node, F&& f) {
  for (const ValueId id : node.inputs)
    if (id.valid()) f(id);
  for (const Subgraph& subgraph : node.subgraphs)
    for (const ValueId id : subgraph.captures) f(id);
}

// A cheap handle. Users of values and the index of names stay true after every call; types are the
// caller's to infer. Not thread-safe.
class GraphEdit {
 public:
  // `graph` must outlive the edit.
  explicit GraphEdit(Graph& graph) : graph_(graph) {}

  ValueId AddValue(std::string name, Type type);
  ValueId AddInput(std::string name, Type type);
  ValueId AddCapture(std::string name, Type type);
  ValueId AddConstant(std::string name, Tensor data);
  void AddOutput(ValueId id) { graph_.outputs_.push_back(id); }
  // Adds a node whose inputs and outputs are values of this graph; every output must be without a
  // producer.
  NodeId AddNode(Node node);
  void RemoveNode(NodeId id);  // its outputs keep their ids and have no producer
  // Every use of `from` (inputs, captures, graph outputs) becomes a use of `to`; nodes from
  // `end_node` on keep reading `from`.
  void ReplaceUses(ValueId from, ValueId to, int end_node = std::numeric_limits<int32_t>::max());
  void SetOutput(int index, ValueId id) { graph_.outputs_[static_cast<size_t>(index)] = id; }
  void SetInput(NodeId id, int input, ValueId to);
  // Feeds `to` to the capture `capture` of subgraph `subgraph`.
  void SetCapture(NodeId id, int subgraph, int capture, ValueId to);
  void RemoveInput(ValueId id);
  // The node has output `output` no longer; nothing may read it.
  void OmitOutput(NodeId id, int output);
  // The body of subgraph `subgraph` of node `id` knows its capture `capture` no longer; nothing in
  // the body may read it.
  void RemoveCapture(NodeId id, int subgraph, int capture);
  void Rename(ValueId id, std::string name);
  // `to` is called what `from` was, which keeps the name with `suffix`.
  void MoveName(ValueId from, ValueId to, std::string_view suffix);

  Type& type(ValueId id) { return value(id).type; }
  std::optional<Tensor>& constant(ValueId id) { return value(id).constant; }
  Metadata& metadata(ValueId id) { return value(id).metadata; }
  std::string& doc_string(ValueId id) { return value(id).doc_string; }
  // Everything but inputs, outputs and captures may be changed (those have functions above).
  Node& node(NodeId id) { return graph_.nodes_[static_cast<size_t>(id.index)]; }

  // Drops removed nodes and values that nothing names; ids change. Returns old value index -> new
  // id.
  std::vector<ValueId> Compact();

 private:
  ValueData& value(ValueId id) { return graph_.values_[static_cast<size_t>(id.index)]; }
  void SetRead(NodeId id, ValueId& read, ValueId to);
  void AddUser(ValueId value, NodeId node);
  void RemoveUser(ValueId value, NodeId node);

  Graph& graph_;
};

}  // namespace onward
