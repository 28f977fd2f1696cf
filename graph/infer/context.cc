#include "graph/infer/context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "graph/infer/elements.h"
#include "graph/infer/merge.h"
#include "graph/infer/type_proto.h"
#include "graph/infer/walk.h"

namespace onward {

absl::Status BodyInferencer::Infer(const std::vector<const onnx::TypeProto*>& input_types) {
  Graph& body = *subgraph_.graph;
  if (body.inputs().size() != input_types.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", subgraph_.attribute, "' has ",
                                                   body.inputs().size(), " inputs, but ",
                                                   input_types.size(), " are given"));
  }
  for (size_t i = 0; i < input_types.size(); ++i) {
    if (input_types[i] == nullptr) continue;
    Type& type = body.mutable_value(body.inputs()[i]).type;
    const Type given = TypeFromProto(*input_types[i]);
    AddSymbols(given, shared_symbols_);
    absl::StatusOr<Type> merged = MergeTypes(type, given);
    if (!merged.ok()) {
      return Annotate(merged.status(), absl::StrCat("input ", i, " of '", subgraph_.attribute,
                                                    "' '", body.value(body.inputs()[i]).name, "'"));
    }
    type = *std::move(merged);
  }
  KnownElements known;
  for (size_t i = 0; i < subgraph_.captures.size() && i < body.captures().size(); ++i) {
    const ValueId outer = subgraph_.captures[i];
    const ValueId inner = body.captures()[i];
    body.mutable_value(inner).type = outer_.type(outer);
    AddSymbols(outer_.type(outer), shared_symbols_);
    if (std::optional<SymbolicDims> elements = ElementsOf(outer_, outer, known_)) {
      known[inner.index] = *std::move(elements);
    }
  }
  return InferNodes(body, known);
}

std::vector<const onnx::TypeProto*> BodyInferencer::doInferencing(
    const std::vector<const onnx::TypeProto*>& input_types,
    const std::vector<const onnx::TensorProto*>& /*input_data*/) {
  if (absl::Status status = Infer(input_types); !status.ok()) {
    *status_ = status;
    throw onnx::InferenceError(std::string(status.message()));
  }
  output_types_.clear();
  std::vector<const onnx::TypeProto*> types;
  for (ValueId id : subgraph_.graph->outputs()) {
    TypeToProto(KeepSymbols(subgraph_.graph->type(id), shared_symbols_),
                &output_types_.emplace_back());
    types.push_back(&output_types_.back());
  }
  return types;
}

NodeInferenceContext::NodeInferenceContext(Graph& graph, NodeId id, const KnownElements& known)
    : graph_(graph),
      node_(graph.mutable_node(id)),
      known_(known),
      input_types_(node_.inputs.size()),
      output_types_(node_.outputs.size()) {
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (hasInput(i)) TypeToProto(graph.type(node_.inputs[i]), &input_types_[i]);
  }
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
  if (attribute == nullptr) return nullptr;
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
    return body.get();
  }
  throw onnx::InferenceError(absl::StrCat("the graph attribute '", name, "' is missing"));
}

}  // namespace onward
