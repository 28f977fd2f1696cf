#include "graph/infer/context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/infer/elements.h"
#include "graph/infer/misread_defaults.h"
#include "graph/infer/misread_shapes.h"
#include "graph/infer/type_proto.h"
#include "graph/ir/graph_edit.h"

namespace onward {

NodeInferenceContext::NodeInferenceContext(Graph& graph, NodeId id, const KnownElements& known)
    : graph_(graph),
      node_(GraphEdit(graph).node(id)),
      known_(known),
      input_types_(node_.inputs.size()),
      output_types_(node_.outputs.size()) {
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (hasInput(i)) TypeToProto(graph.type(node_.inputs[i]), &input_types_[i]);
  }
  CompleteMisreadShapes(node_, input_types_);
}

bool NodeInferenceContext::hasInput(size_t index) const {
  return index < node_.inputs.size() && node_.inputs[index].valid();
}

bool NodeInferenceContext::hasOutput(size_t index) {
  return index < node_.outputs.size() && node_.outputs[index].valid();
}

const onnx::AttributeProto* NodeInferenceContext::getAttribute(const std::string& name) const {
  if (const auto it = attributes_.find(name); it != attributes_.end()) return &it->second;
  const Attribute* attribute = node_.attributes.Find(name);
  if (attribute == nullptr)
    return node_.schema == nullptr ? nullptr : MisreadDefault(*node_.schema, name);
  onnx::AttributeProto& proto = attributes_[name];
  AttributeToInferenceProto(name, *attribute, &proto);
  return &proto;
}

const onnx::TypeProto* NodeInferenceContext::getInputType(size_t index) const {
  return hasInput(index) ? &input_types_[index] : nullptr;
}

onnx::TypeProto* NodeInferenceContext::getOutputType(size_t index) {
  if (index >= output_types_.size()) {
    throw onnx::InferenceError(absl::StrCat("the node has no output ", index));
  }
  return &output_types_[index];
}

const onnx::TensorProto* NodeInferenceContext::getInputData(size_t index) const {
  if (!hasInput(index)) return nullptr;
  if (const auto it = input_data_.find(index); it != input_data_.end()) return &it->second;
  const ValueId id = node_.inputs[index];
  if (const Tensor* constant = graph_.constant(id)) {
    // A graph input's constant is only its default.
    if (constant->num_elements() > kMaxInferredElements || constant->raw_data() == nullptr ||
        graph_.is_input(id)) {
      return nullptr;
    }
    onnx::TensorProto& proto = input_data_[index];
    SmallTensorToProto(*constant, &proto);
    // The body of AffineGrid gives a Range vectors of one element.
    if (node_.op_type == "Range" && constant->num_elements() == 1) proto.clear_dims();
    return &proto;
  }
  const DType dtype = graph_.type(id).dtype;
  const auto it = known_.find(id.index);
  const std::optional<Dims> dims = graph_.type(id).static_dims();
  if (it == known_.end() || !dims || (dtype != DType::kInt64 && dtype != DType::kInt32)) {
    return nullptr;
  }
  std::vector<int64_t> values;
  for (const Dim& element : it->second) {
    const std::optional<int64_t> value = DimNumber(element);
    if (!value) return nullptr;
    values.push_back(*value);
  }
  onnx::TensorProto& proto = input_data_[index];
  proto.set_data_type(static_cast<int>(dtype));
  for (int64_t dim : *dims) proto.add_dims(dim);
  for (int64_t value : values) {
    if (dtype == DType::kInt64) proto.add_int64_data(value);
    if (dtype == DType::kInt32) proto.add_int32_data(static_cast<int32_t>(value));
  }
  return &proto;
}

const onnx::TensorShapeProto* NodeInferenceContext::getSymbolicInput(size_t index) const {
  if (!hasInput(index)) return nullptr;
  const ValueId id = node_.inputs[index];
  const auto known = known_.find(id.index);
  if (known == known_.end()) return nullptr;
  if (const auto it = symbolic_inputs_.find(index); it != symbolic_inputs_.end())
    return &it->second;
  onnx::TensorShapeProto& shape = symbolic_inputs_[index];
  for (const Dim& element : known->second) {
    auto* dim = shape.add_dim();
    if (const std::optional<int64_t> value = DimNumber(element)) {
      dim->set_dim_value(*value);
    } else if (element.symbolic()) {
      dim->set_dim_param(element.expression());
    }
  }
  return &shape;
}

onnx::GraphInferencer* NodeInferenceContext::getGraphAttributeInferencer(const std::string& name) {
  if (const auto it = bodies_.find(name); it != bodies_.end()) return it->second.get();
  for (Subgraph& subgraph : node_.subgraphs) {
    if (subgraph.attribute != name) continue;
    auto& body = bodies_[name];
    body = std::make_unique<BodyInferencer>(graph_, subgraph, known_, &body_status_);
    if (node_.Is("Loop") && node_.inputs.size() > 2)
      body->SetCarried({node_.inputs.begin() + 2, node_.inputs.end()});
    return body.get();
  }
  throw onnx::InferenceError(absl::StrCat("the graph attribute '", name, "' is missing"));
}

absl::Status NodeInferenceContext::InferOtherBodies() {
  for (const Subgraph& subgraph : node_.subgraphs) {
    if (bodies_.count(subgraph.attribute)) continue;
    const std::vector<const onnx::TypeProto*> declared(subgraph.graph->inputs().size(), nullptr);
    getGraphAttributeInferencer(subgraph.attribute)->doInferencing(declared, {});
  }
  return body_status_;
}

std::optional<std::vector<Type>> NodeInferenceContext::InferTakenBranch() {
  if (!node_.Is("If") || !hasInput(0)) return std::nullopt;
  const std::optional<SymbolicDims> condition = ElementsOf(graph_, node_.inputs[0], known_);
  if (!condition || condition->size() != 1) return std::nullopt;
  const std::optional<int64_t> decided = DimNumber((*condition)[0]);
  if (!decided) return std::nullopt;
  const std::string taken = *decided != 0 ? "then_branch" : "else_branch";
  const Subgraph* branch = node_.FindSubgraph(taken);
  if (branch == nullptr || branch->graph->outputs().size() != node_.outputs.size())
    return std::nullopt;
  for (Subgraph& subgraph : node_.subgraphs) {
    if (subgraph.attribute == taken) continue;
    try {
      getGraphAttributeInferencer(subgraph.attribute)->doInferencing({}, {});
    } catch (const onnx::InferenceError&) {
      body_status_ = absl::OkStatus();
    }
  }
  getGraphAttributeInferencer(taken)->doInferencing({}, {});
  return bodies_.at(taken)->outputs();
}

void NodeInferenceContext::CompleteCarried(std::vector<Type>& types) const {
  const auto body = bodies_.find("body");
  if (body == bodies_.end() || !body->second->carried()) return;
  const std::vector<Type>& carried = *body->second->carried();
  std::copy_n(carried.begin(), std::min(carried.size(), types.size()), types.begin());
}

}  // namespace onward
