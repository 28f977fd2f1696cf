#include "onnx_io/upgrade/node_upgrade.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"
#include "onward/import.h"

namespace onward::onnx_io {

NodeUpgrade::NodeUpgrade(Graph& graph, NodeId id) : graph_(graph), id_(id) {
  // The old node keeps what the graph's lists of users are made from.
  Node& old = GraphEdit(graph).node(id);
  node = old.WithoutSubgraphs();
  for (Subgraph& subgraph : old.subgraphs) {
    node.subgraphs.push_back({subgraph.attribute, std::move(subgraph.graph), subgraph.captures});
  }
}

void NodeUpgrade::SetInput(int index, ValueId value) {
  if (static_cast<int>(node.inputs.size()) <= index) {
    node.inputs.resize(static_cast<size_t>(index) + 1);
  }
  node.inputs[static_cast<size_t>(index)] = value;
}

std::optional<int64_t> NodeUpgrade::Rank(ValueId value) const {
  if (!value.valid() || !graph_.type(value).shape.has_value()) return std::nullopt;
  return static_cast<int64_t>(graph_.type(value).shape->size());
}

DType NodeUpgrade::dtype(ValueId value) const {
  return value.valid() ? graph_.type(value).dtype : DType::kUndefined;
}

namespace {

// Where the names of new values come from.
std::string BaseName(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  for (ValueId output : node.outputs) {
    if (output.valid()) return graph.value(output).name;
  }
  return node.op_type;
}

}  // namespace

ValueId NodeUpgrade::NewValue(std::string_view role) {
  const std::string name =
      absl::StrCat(BaseName(graph_, node), "/", absl::AsciiStrToLower(std::string(role)));
  return GraphEdit(graph_).AddValue(graph_.UniqueName(name), Type());
}

ValueId NodeUpgrade::Constant(std::string_view role, Tensor data) {
  const std::string name = absl::StrCat(BaseName(graph_, node), "/", std::string(role));
  return GraphEdit(graph_).AddConstant(graph_.UniqueName(name), std::move(data));
}

ValueId NodeUpgrade::Int64s(std::string_view role, const std::vector<int64_t>& values) {
  return Constant(role,
                  Tensor::Of<int64_t>({static_cast<int64_t>(values.size())},
                                      absl::Span<const int64_t>(values.data(), values.size())));
}

ValueId NodeUpgrade::Int64(std::string_view role, int64_t value) {
  return Constant(role, Tensor::Scalar<int64_t>(value));
}

ValueId NodeUpgrade::FloatLike(std::string_view role, float value, ValueId like) {
  switch (dtype(like)) {
    case DType::kFloat32:
      return Constant(role, Tensor::Scalar<float>(value));
    case DType::kFloat64:
      return Constant(role, Tensor::Scalar<double>(value));
    case DType::kFloat16:
      return Constant(role, Tensor::Scalar<Float16>(Float16(value)));
    default:
      return Add("CastLike", {Constant(role, Tensor::Scalar<float>(value)), like});
  }
}

void NodeUpgrade::AddAs(ValueId output, std::string_view op, std::vector<ValueId> inputs,
                        Attributes attributes) {
  Node added;
  added.op_type = std::string(op);
  added.schema = onnx::OpSchemaRegistry::Schema(added.op_type, static_cast<int>(kOpset), "");
  added.name = absl::StrCat(BaseName(graph_, node), "/", std::string(op));
  added.inputs = std::move(inputs);
  added.outputs = {output};
  added.attributes = std::move(attributes);
  added.metadata = node.metadata;
  added_.push_back(std::move(added));
}

ValueId NodeUpgrade::Add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
  const ValueId output = NewValue(op);
  AddAs(output, op, std::move(inputs), std::move(attributes));
  return output;
}

ValueId NodeUpgrade::TakeOutput(int index) {
  return std::exchange(node.outputs[static_cast<size_t>(index)],
                       NewValue(absl::StrCat("raw", index)));
}

void NodeUpgrade::AttributeToInput(std::string_view attribute, int input) {
  const Attribute* found = node.attributes.Find(attribute);
  if (found == nullptr) return;
  if (const auto* list = std::get_if<std::vector<int64_t>>(found)) {
    SetInput(input, Int64s(attribute, *list));
  } else if (const auto* one = std::get_if<int64_t>(found)) {
    SetInput(input, Int64s(attribute, {*one}));
  }
  node.attributes.Erase(attribute);
}

ValueId NodeUpgrade::RankTensor(ValueId value) {
  if (const std::optional<int64_t> rank = Rank(value)) return Int64s("rank", {*rank});
  return Add("Shape", {Add("Shape", {value})});
}

ValueId NodeUpgrade::Ones(ValueId count) {
  return Add("ConstantOfShape", {count}, {{"value", Tensor::Of<int64_t>({1}, {1})}});
}

void NodeUpgrade::Commit() {
  Node& old = GraphEdit(graph_).node(id_);
  const bool same_edges = !dropped_ && added_.empty() && node.inputs == old.inputs &&
                          node.outputs == old.outputs &&
                          node.subgraphs.size() == old.subgraphs.size();
  if (same_edges) {
    old.schema = node.schema;
    old.op_type = std::move(node.op_type);
    old.attributes = std::move(node.attributes);
    for (size_t i = 0; i < old.subgraphs.size(); ++i) {
      old.subgraphs[i].graph = std::move(node.subgraphs[i].graph);
    }
    return;
  }
  GraphEdit(graph_).RemoveNode(id_);
  for (Node& added : added_) GraphEdit(graph_).AddNode(std::move(added));
  if (!dropped_) GraphEdit(graph_).AddNode(std::move(node));
}

}  // namespace onward::onnx_io
