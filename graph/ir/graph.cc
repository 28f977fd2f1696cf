#include "onward/graph.h"

#include <algorithm>
#include <queue>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"

namespace onward {

Node Node::WithoutSubgraphs() const {
  Node copy;
  copy.schema = schema;
  copy.domain = domain;
  copy.op_type = op_type;
  copy.name = name;
  copy.doc_string = doc_string;
  copy.metadata = metadata;
  copy.inputs = inputs;
  copy.outputs = outputs;
  copy.attributes = attributes;
  copy.provider = provider;
  copy.origin = origin;
  return copy;
}

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
    Node& to = nodes_.emplace_back(from.WithoutSubgraphs());
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

}  // namespace onward
