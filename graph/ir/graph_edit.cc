#include "graph/ir/graph_edit.h"

#include <algorithm>
#include <utility>

namespace onward {

ValueId GraphEdit::AddValue(std::string value_name, Type type) {
  ValueData data;
  data.name = std::move(value_name);
  data.type = std::move(type);
  graph_.names_.emplace(data.name, graph_.num_values());
  graph_.values_.push_back(std::move(data));
  graph_.users_.emplace_back();
  return {graph_.num_values() - 1};
}

ValueId GraphEdit::AddInput(std::string value_name, Type type) {
  const ValueId id = AddValue(std::move(value_name), std::move(type));
  graph_.inputs_.push_back(id);
  return id;
}

ValueId GraphEdit::AddCapture(std::string value_name, Type type) {
  const ValueId id = AddValue(std::move(value_name), std::move(type));
  graph_.captures_.push_back(id);
  return id;
}

ValueId GraphEdit::AddConstant(std::string value_name, Tensor data) {
  const ValueId id = AddValue(std::move(value_name), Type::Tensor(data.dtype(), data.dims()));
  value(id).constant = std::move(data);
  return id;
}

NodeId GraphEdit::AddNode(Node node) {
  const NodeId id{graph_.num_nodes()};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    value(node.outputs[i]).producer = id;
    value(node.outputs[i]).producer_output = static_cast<int>(i);
  }
  graph_.nodes_.push_back(std::move(node));
  graph_.alive_.push_back(true);
  ForEachRead(graph_.nodes_.back(), [&](ValueId read) { AddUser(read, id); });
  return id;
}

void GraphEdit::RemoveNode(NodeId id) {
  Node& at = node(id);
  ForEachRead(at, [&](ValueId read) { RemoveUser(read, id); });
  for (ValueId output : at.outputs) {
    if (output.valid()) value(output).producer = {};
  }
  graph_.alive_[static_cast<size_t>(id.index)] = false;
  at = Node();
}

void GraphEdit::ReplaceUses(ValueId from, ValueId to, int end_node) {
  std::vector<NodeId>& users = graph_.users_[static_cast<size_t>(from.index)];
  const auto end = std::lower_bound(users.begin(), users.end(), NodeId{end_node});
  for (auto it = users.begin(); it != end; ++it) {
    const NodeId user = *it;
    Node& at = node(user);
    std::replace(at.inputs.begin(), at.inputs.end(), from, to);
    for (Subgraph& subgraph : at.subgraphs) {
      std::replace(subgraph.captures.begin(), subgraph.captures.end(), from, to);
    }
    AddUser(to, user);
  }
  users.erase(users.begin(), end);
  std::replace(graph_.outputs_.begin(), graph_.outputs_.end(), from, to);
}

// `read` is one of the node's inputs or captures.
void GraphEdit::SetRead(NodeId id, ValueId& read, ValueId to) {
  const ValueId from = std::exchange(read, to);
  if (from.valid()) {
    bool still_read = false;
    ForEachRead(node(id), [&](ValueId other) { still_read |= other == from; });
    if (!still_read) RemoveUser(from, id);
  }
  if (to.valid()) AddUser(to, id);
}

void GraphEdit::SetInput(NodeId id, int input, ValueId to) {
  SetRead(id, node(id).inputs[static_cast<size_t>(input)], to);
}

void GraphEdit::SetCapture(NodeId id, int subgraph, int capture, ValueId to) {
  Subgraph& body = node(id).subgraphs[static_cast<size_t>(subgraph)];
  SetRead(id, body.captures[static_cast<size_t>(capture)], to);
}

void GraphEdit::RemoveInput(ValueId id) {
  graph_.inputs_.erase(std::remove(graph_.inputs_.begin(), graph_.inputs_.end(), id),
                       graph_.inputs_.end());
}

void GraphEdit::OmitOutput(NodeId id, int output) {
  std::vector<ValueId>& outputs = node(id).outputs;
  ValueId& omitted = outputs[static_cast<size_t>(output)];
  value(omitted).producer = {};
  omitted = {};
  while (!outputs.empty() && !outputs.back().valid()) outputs.pop_back();
}

void GraphEdit::RemoveCapture(NodeId id, int subgraph, int capture) {
  Node& at = node(id);
  Subgraph& body = at.subgraphs[static_cast<size_t>(subgraph)];
  const ValueId outer = body.captures[static_cast<size_t>(capture)];
  body.captures.erase(body.captures.begin() + capture);
  body.graph->captures_.erase(body.graph->captures_.begin() + capture);
  bool still_read = false;
  ForEachRead(at, [&](ValueId read) { still_read |= read == outer; });
  if (!still_read) RemoveUser(outer, id);
}

void GraphEdit::Rename(ValueId id, std::string new_name) {
  ValueData& data = value(id);
  if (const auto it = graph_.names_.find(data.name);
      it != graph_.names_.end() && it->second == id.index) {
    graph_.names_.erase(it);
  }
  data.name = std::move(new_name);
  graph_.names_.emplace(data.name, id.index);
}

void GraphEdit::MoveName(ValueId from, ValueId to, std::string_view suffix) {
  std::string name = value(from).name;
  Rename(from, graph_.UniqueName(name + std::string(suffix)));
  Rename(to, std::move(name));
}

void GraphEdit::AddUser(ValueId value, NodeId node) {
  auto& list = graph_.users_[static_cast<size_t>(value.index)];
  const auto it = std::lower_bound(list.begin(), list.end(), node);
  if (it == list.end() || *it != node) list.insert(it, node);
}

void GraphEdit::RemoveUser(ValueId value, NodeId node) {
  auto& list = graph_.users_[static_cast<size_t>(value.index)];
  list.erase(std::remove(list.begin(), list.end(), node), list.end());
}

std::vector<ValueId> GraphEdit::Compact() {
  std::vector<bool> named(graph_.values_.size(), false);
  const auto name_all = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids) {
      if (id.valid()) named[static_cast<size_t>(id.index)] = true;
    }
  };
  name_all(graph_.inputs_);
  name_all(graph_.outputs_);
  name_all(graph_.captures_);
  for (NodeId id : graph_.node_ids()) {
    name_all(node(id).inputs);
    name_all(node(id).outputs);
    for (const Subgraph& subgraph : node(id).subgraphs) name_all(subgraph.captures);
  }
  Graph compact;
  compact.name = std::move(graph_.name);
  compact.doc_string = std::move(graph_.doc_string);
  compact.metadata = std::move(graph_.metadata);
  std::vector<ValueId> to(graph_.values_.size());
  for (size_t i = 0; i < graph_.values_.size(); ++i) {
    if (!named[i]) continue;
    to[i] = {compact.num_values()};
    compact.names_.emplace(graph_.values_[i].name, compact.num_values());
    compact.values_.push_back(std::move(graph_.values_[i]));
    compact.values_.back().producer = {};
    compact.users_.emplace_back();
  }
  const auto map_all = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id.valid()) id = to[static_cast<size_t>(id.index)];
    }
  };
  for (NodeId id : graph_.node_ids()) {
    Node moved = std::move(node(id));
    map_all(moved.inputs);
    map_all(moved.outputs);
    for (Subgraph& subgraph : moved.subgraphs) map_all(subgraph.captures);
    GraphEdit(compact).AddNode(std::move(moved));
  }
  compact.inputs_ = std::move(graph_.inputs_);
  compact.outputs_ = std::move(graph_.outputs_);
  compact.captures_ = std::move(graph_.captures_);
  map_all(compact.inputs_);
  map_all(compact.outputs_);
  map_all(compact.captures_);
  graph_ = std::move(compact);
  return to;
}

}  // namespace onward
