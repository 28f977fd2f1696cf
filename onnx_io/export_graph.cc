#include "onnx_io/export_graph.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/infer/type_proto.h"
#include "onnx_io/attribute_proto.h"
#include "onnx_io/tensor_proto.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

// Values that the file mentions: not constants that nothing uses, nor outputs of removed nodes.
std::vector<bool> NamedValues(const Graph& graph) {
  std::vector<bool> named(static_cast<size_t>(graph.num_values()), false);
  const auto add = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id.valid()) named[static_cast<size_t>(id.index)] = true;
    }
  };
  add(graph.inputs());
  add(graph.outputs());
  for (const NodeId id : graph.node_ids()) {
    add(graph.node(id).inputs);
    add(graph.node(id).outputs);
    for (const Subgraph& subgraph : graph.node(id).subgraphs) add(subgraph.captures);
  }
  return named;
}

bool IsCapture(const Graph& graph, ValueId id) {
  for (const ValueId capture : graph.captures()) {
    if (capture == id) return true;
  }
  return false;
}

void ExportValue(const ValueData& value, const std::string& name, onnx::ValueInfoProto* proto) {
  proto->set_name(name);
  if (value.type.kind != Type::Kind::kUnknown) TypeToProto(value.type, proto->mutable_type());
  if (!value.doc_string.empty()) proto->set_doc_string(value.doc_string);
  MetadataToProto(value.metadata, proto);
}

}  // namespace

bool ExportNames::Visible(const std::string& name) const {
  return taken.contains(name) || (outer != nullptr && outer->Visible(name));
}

ExportNames GraphExporter::NameValues(const Graph& graph, const std::vector<std::string>& captures,
                                      const ExportNames* outer) const {
  ExportNames names;
  names.outer = outer;
  names.of.resize(static_cast<size_t>(graph.num_values()));
  for (size_t i = 0; i < graph.captures().size() && i < captures.size(); ++i) {
    names.of[static_cast<size_t>(graph.captures()[i].index)] = captures[i];
    names.taken.insert(captures[i]);
  }
  absl::flat_hash_map<std::string, int> next;
  const auto name = [&](ValueId id) {
    std::string& chosen = names.of[static_cast<size_t>(id.index)];
    if (!chosen.empty()) return;
    const std::string& own = graph.value(id).name;
    const std::string wanted = own.empty() ? absl::StrCat("value_", id.index) : own;
    chosen = wanted;
    while (names.Visible(chosen)) chosen = absl::StrCat(wanted, "_", ++next[wanted]);
    names.taken.insert(chosen);
  };
  // The names that users see come first.
  for (const ValueId id : graph.inputs()) name(id);
  for (const ValueId id : graph.outputs()) name(id);
  const std::vector<bool> named = NamedValues(graph);
  for (int i = 0; i < graph.num_values(); ++i) {
    if (named[static_cast<size_t>(i)]) name({i});
  }
  return names;
}

void GraphExporter::ExportInitializer(const Tensor& tensor, const std::string& name,
                                      onnx::TensorProto* proto) {
  if (external_ != nullptr && external_->Take(tensor, name, proto)) return;
  TensorToProto(tensor, name, proto);
}

absl::Status GraphExporter::ExportNode(const Graph& graph, NodeId id, const ExportNames& names,
                                       onnx::NodeProto* proto) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs) proto->add_input(input.valid() ? names[input] : "");
  for (const ValueId output : node.outputs) proto->add_output(output.valid() ? names[output] : "");
  proto->set_op_type(node.op_type);
  if (!node.domain.empty()) proto->set_domain(node.domain);
  if (!node.name.empty()) proto->set_name(node.name);
  if (!node.doc_string.empty()) proto->set_doc_string(node.doc_string);
  MetadataToProto(node.metadata, proto);
  if (overloads_ != nullptr) {
    if (const auto it = overloads_->find(&node); it != overloads_->end() && !it->second.empty()) {
      proto->set_overload(it->second);
    }
  }
  for (const auto& [name, attribute] : node.attributes.map()) {
    AttributeToProto(name, attribute, proto->add_attribute());
  }
  for (const Subgraph& subgraph : node.subgraphs) {
    onnx::AttributeProto* attribute = proto->add_attribute();
    attribute->set_name(subgraph.attribute);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    std::vector<std::string> captures;
    for (const ValueId capture : subgraph.captures) captures.push_back(names[capture]);
    ONWARD_RETURN_IF_ERROR(ExportGraph(*subgraph.graph, captures, &names, attribute->mutable_g()));
  }
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportGraph(const Graph& graph,
                                        const std::vector<std::string>& captures,
                                        const ExportNames* outer, onnx::GraphProto* proto) {
  ExportNames names = NameValues(graph, captures, outer);
  proto->set_name(graph.name.empty() ? "graph" : graph.name);
  if (!graph.doc_string.empty()) proto->set_doc_string(graph.doc_string);
  MetadataToProto(graph.metadata, proto);
  for (const ValueId id : graph.inputs())
    ExportValue(graph.value(id), names[id], proto->add_input());
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  for (const NodeId id : order) {
    ONWARD_RETURN_IF_ERROR(ExportNode(graph, id, names, proto->add_node()));
  }
  for (const ValueId id : graph.outputs()) {
    std::string name = names[id];
    if (IsCapture(graph, id)) {
      // Other runtimes refuse a subgraph's output that is an outer value.
      onnx::NodeProto* copy = proto->add_node();
      copy->set_op_type("Identity");
      copy->add_input(name);
      for (int i = 1; names.Visible(name); ++i) name = absl::StrCat(names[id], "_", i);
      names.taken.insert(name);
      copy->add_output(name);
    }
    ExportValue(graph.value(id), name, proto->add_output());
  }
  const std::vector<bool> named = NamedValues(graph);
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueId id{i};
    const ValueData& value = graph.value(id);
    if (!named[static_cast<size_t>(i)]) continue;
    if (value.constant) ExportInitializer(*value.constant, names[id], proto->add_initializer());
    const bool listed = graph.is_input(id) || graph.is_output(id) || IsCapture(graph, id);
    const bool says = value.constant ? !value.doc_string.empty() || !value.metadata.empty()
                                     : value.type.kind != Type::Kind::kUnknown;
    if (!listed && says) ExportValue(value, names[id], proto->add_value_info());
  }
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportFunction(const Graph& graph, onnx::FunctionProto* function) {
  const ExportNames names = NameValues(graph, {}, nullptr);
  for (const ValueId id : graph.inputs()) function->add_input(names[id]);
  for (const ValueId id : graph.outputs()) function->add_output(names[id]);
  const std::vector<bool> named = NamedValues(graph);
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueData& value = graph.value({i});
    if (!named[static_cast<size_t>(i)] || !value.constant) continue;
    onnx::NodeProto* node = function->add_node();
    node->set_op_type("Constant");
    node->add_output(names[{i}]);
    AttributeToProto("value", *value.constant, node->add_attribute());
  }
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  for (const NodeId id : order) {
    ONWARD_RETURN_IF_ERROR(ExportNode(graph, id, names, function->add_node()));
  }
  return absl::OkStatus();
}

}  // namespace onward::onnx_io
