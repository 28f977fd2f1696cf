#include "graph/rewrite/patch.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"

namespace onward {

ValueId Patch::AddConstant(std::string_view name, Tensor data) {
  ValueData value;
  value.name = std::string(name);
  value.type = Type::Tensor(data.dtype(), data.dims());
  value.constant = std::move(data);
  values_.push_back(std::move(value));
  return {first_value_ + static_cast<int>(values_.size()) - 1};
}

ValueId Patch::AddNode(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                       std::string_view domain) {
  Node node;
  node.op_type = std::string(op);
  node.domain = std::string(domain);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return AddNodeWithOutputs(std::move(node), 1)[0];
}

std::vector<ValueId> Patch::AddNodeWithOutputs(Node node, int num_outputs) {
  return AddNodeWithOutputs(std::move(node),
                            std::vector<bool>(static_cast<size_t>(num_outputs), true));
}

std::vector<ValueId> Patch::AddNodeWithOutputs(Node node, const std::vector<bool>& wanted) {
  node.outputs.clear();
  for (const bool output : wanted) {
    if (!output) {
      node.outputs.emplace_back();
      continue;
    }
    values_.emplace_back();
    node.outputs.push_back({first_value_ + static_cast<int>(values_.size()) - 1});
  }
  std::vector<ValueId> outputs = node.outputs;
  nodes_.push_back(std::move(node));
  return outputs;
}

void Patch::NameNode(ValueId made, std::string name) {
  for (Node& node : nodes_) {
    if (std::find(node.outputs.begin(), node.outputs.end(), made) == node.outputs.end()) continue;
    node.name = std::move(name);
    return;
  }
}

bool CanTakeOutputName(const Graph& graph, ValueId from, ValueId to) {
  const auto& captures = graph.captures();
  return !graph.is_input(from) && !graph.is_input(to) && !graph.is_output(to) &&
         std::find(captures.begin(), captures.end(), to) == captures.end();
}

namespace {

// Adds to the type of `to` what is known of `from`, which is equal to it at run time. Of two
// symbols for one size a new value takes the old one.
void RefineType(const Type& from, Type& to, bool is_new) {
  if (to.kind == Type::Kind::kUnknown) to = from;
  if (!to.is_tensor() || !from.is_tensor() || !from.shape) return;
  if (!to.shape) to.shape = from.shape;
  for (size_t i = 0; i < to.shape->size(); ++i) {
    Dim& dim = (*to.shape)[i];
    const Dim& other = (*from.shape)[i];
    if (dim.unknown() || other.known() || (is_new && other.symbolic() && !dim.known())) dim = other;
  }
}

}  // namespace

class PatchApplication {
 public:
  PatchApplication(Graph& graph, Patch& patch)
      : graph_(graph), patch_(patch), first_node_(graph.num_nodes()) {}

  absl::Status Run() {
    ONWARD_RETURN_IF_ERROR(CheckIds());
    if (const absl::Status status = AddNewParts(); !status.ok()) {
      for (int i = graph_.num_nodes() - 1; i >= first_node_; --i) GraphEdit(graph_).RemoveNode({i});
      return absl::InternalError(
          absl::StrCat("patch '", patch_.label_, "': ", std::string(status.message())));
    }
    NameNewNodes();
    for (const auto& [from, to] : patch_.replaced_) Replace(from, to);
    for (NodeId id : patch_.removed_) ONWARD_RETURN_IF_ERROR(Remove(id));
    while (!fallen_.empty()) {
      const NodeId id = fallen_.back();
      fallen_.pop_back();
      RemoveIfUnread(id);
    }
    for (const auto& [from, to] : patch_.replaced_) TakeName(from, to);
    RecordOrigin();
    return absl::OkStatus();
  }

 private:
  absl::Status Wrong(std::string_view what) const {
    return absl::InternalError(absl::StrCat("patch '", patch_.label_, "': ", std::string(what)));
  }

  absl::Status CheckIds() const {
    if (patch_.graph_ != &graph_ || patch_.first_value_ != graph_.num_values()) {
      return Wrong("the graph changed after the patch was made");
    }
    const int end = patch_.first_value_ + static_cast<int>(patch_.values_.size());
    for (const Node& node : patch_.nodes_) {
      for (ValueId id : node.inputs) {
        if (id.index >= end) return Wrong("a new node reads a value that does not exist");
      }
    }
    for (const auto& [from, to] : patch_.replaced_) {
      if (!from.valid() || from.index >= patch_.first_value_ || !to.valid() || to.index >= end ||
          from == to) {
        return Wrong("a replacement names a wrong value");
      }
    }
    for (NodeId id : patch_.removed_) {
      if (!id.valid() || id.index >= first_node_ || !graph_.alive(id)) {
        return Wrong("a node to remove does not exist");
      }
    }
    return absl::OkStatus();
  }

  std::string BaseName() const {
    if (!patch_.replaced_.empty()) return graph_.value(patch_.replaced_[0].first).name;
    return "value";
  }

  absl::Status AddNewParts() {
    const std::string base = BaseName();
    std::vector<std::string_view> made_by(patch_.values_.size());
    for (const Node& node : patch_.nodes_) {
      for (ValueId output : node.outputs) {
        if (!output.valid()) continue;  // omitted
        made_by[static_cast<size_t>(output.index - patch_.first_value_)] = node.op_type;
      }
    }
    for (size_t i = 0; i < patch_.values_.size(); ++i) {
      ValueData& value = patch_.values_[i];
      if (value.name.empty()) {
        value.name =
            absl::StrCat(base, "_", made_by[i].empty() ? "const" : std::string(made_by[i]));
      }
      const ValueId id =
          GraphEdit(graph_).AddValue(graph_.UniqueName(value.name), std::move(value.type));
      GraphEdit(graph_).constant(id) = std::move(value.constant);
    }
    for (Node& node : patch_.nodes_) {
      const std::string op = node.op_type;
      if (node.schema == nullptr) {
        node.schema = FindSchema(node.op_type, node.domain);
      }
      const NodeId id = GraphEdit(graph_).AddNode(std::move(node));
      ONWARD_RETURN_IF_ERROR(InferNode(graph_, id));
    }
    for (const auto& [from, to] : patch_.replaced_) {
      const Type& old_type = graph_.type(from);
      const Type& new_type = graph_.type(to);
      if (!new_type.CompatibleWith(old_type)) {
        return absl::InternalError(absl::StrCat("'", graph_.value(from).name, "' of type ",
                                                old_type.ToString(), " cannot be replaced by ",
                                                new_type.ToString()));
      }
    }
    return absl::OkStatus();
  }

  // The node that makes a replacement takes the place's name; others get their own from it.
  void NameNewNodes() {
    for (const auto& [from, to] : patch_.replaced_) {
      const NodeId old_node = graph_.value(from).producer;
      const NodeId new_node = graph_.value(to).producer;
      if (!old_node.valid() || new_node.index < first_node_) continue;
      const Node& old_data = graph_.node(old_node);
      Node& node = GraphEdit(graph_).node(new_node);
      if (!node.name.empty()) continue;
      node.name = old_data.name;
      node.provider = old_data.provider;
      if (node.doc_string.empty()) node.doc_string = old_data.doc_string;
      if (node.metadata.empty()) node.metadata = old_data.metadata;
    }
  }

  void Replace(ValueId from, ValueId to) {
    const bool output = graph_.is_output(from);
    const bool can_take = output && CanTakeOutputName(graph_, from, to);
    if (!graph_.is_input(to)) {
      RefineType(graph_.type(from), GraphEdit(graph_).type(to), to.index >= patch_.first_value_);
    }
    const std::vector<ValueId> outputs = graph_.outputs();
    GraphEdit(graph_).ReplaceUses(from, to, first_node_);
    if (can_take) {
      GraphEdit(graph_).MoveName(from, to, "_replaced");
    } else if (output) {
      KeepOutput(from, to, outputs);
    }
    if (graph_.value(from).producer.valid()) fallen_.push_back(graph_.value(from).producer);
  }

  // Puts output `from` back, as an Identity of `to` unless it is an input itself.
  void KeepOutput(ValueId from, ValueId to, const std::vector<ValueId>& outputs) {
    ValueId kept = from;
    if (!graph_.is_input(from)) {
      std::string name = graph_.value(from).name;
      GraphEdit(graph_).Rename(from, graph_.UniqueName(absl::StrCat(name, "_replaced")));
      kept = GraphEdit(graph_).AddValue(std::move(name), graph_.type(from));
      Node identity;
      identity.op_type = "Identity";
      identity.schema = FindSchema("Identity", "");
      identity.inputs = {to};
      identity.outputs = {kept};
      GraphEdit(graph_).AddNode(std::move(identity));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == from) GraphEdit(graph_).SetOutput(static_cast<int>(i), kept);
    }
  }

  absl::Status Remove(NodeId id) {
    for (ValueId output : graph_.node(id).outputs) {
      if (output.valid() && (!graph_.users(output).empty() || graph_.is_output(output))) {
        return Wrong(absl::StrCat("removes ", graph_.Describe(id), ", which something reads"));
      }
    }
    RemoveIfUnread(id);
    return absl::OkStatus();
  }

  void RemoveIfUnread(NodeId id) {
    if (!graph_.alive(id)) return;
    const Node& node = graph_.node(id);
    for (ValueId output : node.outputs) {
      if (output.valid() && (!graph_.users(output).empty() || graph_.is_output(output))) return;
    }
    std::vector<ValueId> read = node.inputs;
    for (const Subgraph& subgraph : node.subgraphs) {
      read.insert(read.end(), subgraph.captures.begin(), subgraph.captures.end());
    }
    if (!node.origin.empty()) origins_.insert(node.origin);
    GraphEdit(graph_).RemoveNode(id);
    for (ValueId value : read) {
      if (!value.valid()) continue;
      if (graph_.value(value).producer.valid()) fallen_.push_back(graph_.value(value).producer);
      ReleaseIfUnread(value);
    }
  }

  // Gives back the memory of a constant that nothing reads any more; its id stays.
  void ReleaseIfUnread(ValueId id) {
    if (!graph_.is_constant(id) || graph_.is_input(id) || graph_.is_output(id)) return;
    if (graph_.users(id).empty()) GraphEdit(graph_).constant(id).reset();
  }

  // A new value that replaced a dead one goes by its name.
  void TakeName(ValueId from, ValueId to) {
    const bool dead = !graph_.value(from).producer.valid() && graph_.users(from).empty() &&
                      !graph_.is_constant(from) && !graph_.is_input(from);
    if (to.index < patch_.first_value_ || !dead || graph_.is_output(to)) return;
    GraphEdit(graph_).MoveName(from, to, "_replaced");
  }

  void RecordOrigin() {
    std::string origin = patch_.label_;
    for (const std::string& earlier : origins_) {
      if (origin.size() + earlier.size() > 512) break;
      absl::StrAppend(&origin, "; ", earlier);
    }
    for (int i = first_node_; i < graph_.num_nodes(); ++i) {
      if (graph_.alive({i})) GraphEdit(graph_).node({i}).origin = origin;
    }
  }

  Graph& graph_;
  Patch& patch_;
  const int first_node_;
  std::vector<NodeId> fallen_;
  std::set<std::string> origins_;
};

absl::Status Apply(Graph& graph, Patch patch) { return PatchApplication(graph, patch).Run(); }

}  // namespace onward
