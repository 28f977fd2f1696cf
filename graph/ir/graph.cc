#include "onward/graph.h"

#include <algorithm>
#include <queue>

#include "absl/strings/str_cat.h"

namespace onward {

const Subgraph* Node::FindSubgraph(std::string_view attribute) const {
  for (const Subgraph& subgraph : subgraphs) {
    if (subgraph.attribute == attribute) return &subgraph;
  }
  return nullptr;
}

Node::Node() = default;
Node::Node(Node&& other) noexcept = default;
Node& Node::operator=(Node&& other) noexcept = default;
Node::~Node() = default;

Model::Model() = default;
Model::Model(const Model& other) = default;
Model::Model(Model&& other) noexcept = default;
Model& Model::operator=(const Model& other) = default;
Model& Model::operator=(Model&& other) noexcept = default;
Model::~Model() = default;

Graph::Graph() = default;
Graph::Graph(const Graph& other) { *this = other; }
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
Graph::~Graph() = default;

Graph& Graph::operator=(const Graph& other) {
  if (this == &other) return *this;
  name = other.name;
  doc_string = other.doc_string;
  metadata = other.metadata;
  values_ = other.values_;
  users_ = other.users_;
  alive_ = other.alive_;
  inputs_ = other.inputs_;
  outputs_ = other.outputs_;
  captures_ = other.captures_;
  names_ = other.names_;
  nodes_.clear();
  nodes_.reserve(other.nodes_.size());
  for (const Node& from : other.nodes_) {
    Node& to = nodes_.emplace_back();
    to.schema = from.schema;
    to.domain = from.domain;
    to.op_type = from.op_type;
    to.name = from.name;
    to.doc_string = from.doc_string;
    to.metadata = from.metadata;
    to.inputs = from.inputs;
    to.outputs = from.outputs;
    to.attributes = from.attributes;
    to.provider = from.provider;
    to.origin = from.origin;
    for (const Subgraph& subgraph : from.subgraphs) {
      to.subgraphs.push_back(
          {subgraph.attribute, std::make_unique<Graph>(*subgraph.graph), subgraph.captures});
    }
  }
  return *this;
}

const Tensor* Graph::constant(ValueId id) const {
  return is_constant(id) ? &*value(id).constant : nullptr;
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end();
}
bool Graph::is_input(ValueId id) const {
  return std::find(inputs_.begin(), inputs_.end(), id) != inputs_.end();
}

ValueId Graph::FindValue(std::string_view wanted) const {
  const auto it = names_.find(std::string(wanted));
  return it == names_.end() ? ValueId() : ValueId{it->second};
}

std::vector<NodeId> Graph::node_ids() const {
  std::vector<NodeId> ids;
  for (int i = 0; i < num_nodes(); ++i) {
    if (alive({i})) ids.push_back({i});
  }
  return ids;
}

namespace {

// Calls f(value) for every value that the node reads.
template <typename F>
void ForEachRead(const Node& node, F&& f) {
  for (ValueId id : node.inputs) {
    if (id.valid()) f(id);
  }
  for (const Subgraph& subgraph : node.subgraphs) {
    for (ValueId id : subgraph.captures) f(id);
  }
}

}  // namespace

absl::StatusOr<std::vector<NodeId>> Graph::TopologicalOrder() const {
  std::vector<int> pending(nodes_.size(), 0);
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  const std::vector<NodeId> ids = node_ids();
  for (NodeId id : ids) {
    std::vector<ValueId> reads;
    ForEachRead(node(id), [&](ValueId read) {
      if (value(read).producer.valid()) reads.push_back(read);
    });
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    pending[static_cast<size_t>(id.index)] = static_cast<int>(reads.size());
    if (reads.empty()) ready.push(id.index);
  }
  std::vector<NodeId> order;
  order.reserve(ids.size());
  while (!ready.empty()) {
    const NodeId id{ready.top()};
    ready.pop();
    order.push_back(id);
    for (ValueId output : node(id).outputs) {
      if (!output.valid()) continue;
      for (NodeId user : users(output)) {
        if (--pending[static_cast<size_t>(user.index)] == 0) ready.push(user.index);
      }
    }
  }
  if (order.size() == ids.size()) return order;
  std::string names;
  int listed = 0;
  for (NodeId id : ids) {
    if (pending[static_cast<size_t>(id.index)] > 0 && listed++ < 5)
      absl::StrAppend(&names, " ", Describe(id));
  }
  return absl::InvalidArgumentError(absl::StrCat("the graph has a cycle, through or before:", names,
                                                 listed > 5 ? " and others" : ""));
}

std::string Graph::Describe(NodeId id) const {
  const Node& n = node(id);
  std::string where = n.name;
  for (size_t i = 0; where.empty() && i < n.outputs.size(); ++i) {
    if (n.outputs[i].valid()) where = value(n.outputs[i]).name;
  }
  const std::string op = n.domain.empty() ? n.op_type : absl::StrCat(n.domain, ".", n.op_type);
  return absl::StrCat("[", op, " '", where, "']");
}

std::string Graph::UniqueName(std::string_view wanted) const {
  std::string candidate(wanted);
  for (int suffix = 1; FindValue(candidate).valid(); ++suffix) {
    candidate = absl::StrCat(std::string(wanted), "_", suffix);
  }
  return candidate;
}

ValueId Graph::AddValue(std::string value_name, Type type) {
  ValueData data;
  data.name = std::move(value_name);
  data.type = std::move(type);
  names_.emplace(data.name, num_values());
  values_.push_back(std::move(data));
  users_.emplace_back();
  return {num_values() - 1};
}

ValueId Graph::AddInput(std::string value_name, Type type) {
  const ValueId id = AddValue(std::move(value_name), std::move(type));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::AddCapture(std::string value_name, Type type) {
  const ValueId id = AddValue(std::move(value_name), std::move(type));
  captures_.push_back(id);
  return id;
}

ValueId Graph::AddConstant(std::string value_name, Tensor data) {
  const ValueId id = AddValue(std::move(value_name), Type::Tensor(data.dtype(), data.dims()));
  mutable_value(id).constant = std::move(data);
  return id;
}

NodeId Graph::AddNode(Node node) {
  const NodeId id{num_nodes()};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    mutable_value(node.outputs[i]).producer = id;
    mutable_value(node.outputs[i]).producer_output = static_cast<int>(i);
  }
  nodes_.push_back(std::move(node));
  alive_.push_back(true);
  ForEachRead(nodes_.back(), [&](ValueId read) { AddUser(read, id); });
  return id;
}

void Graph::RemoveNode(NodeId id) {
  Node& node = mutable_node(id);
  ForEachRead(node, [&](ValueId read) { RemoveUser(read, id); });
  for (ValueId output : node.outputs) {
    if (output.valid()) mutable_value(output).producer = {};
  }
  alive_[static_cast<size_t>(id.index)] = false;
  node = Node();
}

void Graph::ReplaceUses(ValueId from, ValueId to, int end_node) {
  std::vector<NodeId>& users = users_[static_cast<size_t>(from.index)];
  const auto end = std::lower_bound(users.begin(), users.end(), NodeId{end_node});
  for (auto it = users.begin(); it != end; ++it) {
    const NodeId user = *it;
    Node& node = mutable_node(user);
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    for (Subgraph& subgraph : node.subgraphs) {
      std::replace(subgraph.captures.begin(), subgraph.captures.end(), from, to);
    }
    AddUser(to, user);
  }
  users.erase(users.begin(), end);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::SetInput(NodeId id, int input, ValueId to) {
  Node& node = mutable_node(id);
  const ValueId from = node.inputs[static_cast<size_t>(input)];
  node.inputs[static_cast<size_t>(input)] = to;
  if (from.valid()) {
    bool still_read = false;
    ForEachRead(node, [&](ValueId read) { still_read |= read == from; });
    if (!still_read) RemoveUser(from, id);
  }
  if (to.valid()) AddUser(to, id);
}

void Graph::RemoveInput(ValueId id) {
  inputs_.erase(std::remove(inputs_.begin(), inputs_.end(), id), inputs_.end());
}

void Graph::OmitOutput(NodeId id, int output) {
  std::vector<ValueId>& outputs = mutable_node(id).outputs;
  ValueId& omitted = outputs[static_cast<size_t>(output)];
  mutable_value(omitted).producer = {};
  omitted = {};
  while (!outputs.empty() && !outputs.back().valid()) outputs.pop_back();
}

void Graph::RemoveCapture(NodeId id, int subgraph, int capture) {
  Node& node = mutable_node(id);
  Subgraph& body = node.subgraphs[static_cast<size_t>(subgraph)];
  const ValueId outer = body.captures[static_cast<size_t>(capture)];
  body.captures.erase(body.captures.begin() + capture);
  body.graph->captures_.erase(body.graph->captures_.begin() + capture);
  bool still_read = false;
  ForEachRead(node, [&](ValueId read) { still_read |= read == outer; });
  if (!still_read) RemoveUser(outer, id);
}

void Graph::Rename(ValueId id, std::string new_name) {
  ValueData& data = mutable_value(id);
  if (const auto it = names_.find(data.name); it != names_.end() && it->second == id.index) {
    names_.erase(it);
  }
  data.name = std::move(new_name);
  names_.emplace(data.name, id.index);
}

void Graph::AddUser(ValueId value, NodeId node) {
  auto& list = users_[static_cast<size_t>(value.index)];
  const auto it = std::lower_bound(list.begin(), list.end(), node);
  if (it == list.end() || *it != node) list.insert(it, node);
}

void Graph::RemoveUser(ValueId value, NodeId node) {
  auto& list = users_[static_cast<size_t>(value.index)];
  list.erase(std::remove(list.begin(), list.end(), node), list.end());
}

std::vector<ValueId> Graph::Compact() {
  std::vector<bool> named(values_.size(), false);
  const auto name_all = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids) {
      if (id.valid()) named[static_cast<size_t>(id.index)] = true;
    }
  };
  name_all(inputs_);
  name_all(outputs_);
  name_all(captures_);
  for (NodeId id : node_ids()) {
    name_all(node(id).inputs);
    name_all(node(id).outputs);
    for (const Subgraph& subgraph : node(id).subgraphs) name_all(subgraph.captures);
  }
  Graph compact;
  compact.name = std::move(name);
  compact.doc_string = std::move(doc_string);
  compact.metadata = std::move(metadata);
  std::vector<ValueId> to(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!named[i]) continue;
    to[i] = {compact.num_values()};
    compact.names_.emplace(values_[i].name, compact.num_values());
    compact.values_.push_back(std::move(values_[i]));
    compact.values_.back().producer = {};
    compact.users_.emplace_back();
  }
  const auto map_all = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id.valid()) id = to[static_cast<size_t>(id.index)];
    }
  };
  for (NodeId id : node_ids()) {
    Node node = std::move(mutable_node(id));
    map_all(node.inputs);
    map_all(node.outputs);
    for (Subgraph& subgraph : node.subgraphs) map_all(subgraph.captures);
    compact.AddNode(std::move(node));
  }
  compact.inputs_ = std::move(inputs_);
  compact.outputs_ = std::move(outputs_);
  compact.captures_ = std::move(captures_);
  map_all(compact.inputs_);
  map_all(compact.outputs_);
  map_all(compact.captures_);
  *this = std::move(compact);
  return to;
}

}  // namespace onward
