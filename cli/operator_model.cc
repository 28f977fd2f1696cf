#include "cli/operator_model.h"

#include <onnx/defs/schema.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/inputs.h"
#include "graph/base/checked.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/opset.h"
#include "onward/import.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

absl::StatusOr<Tensor> ConstantOf(DType dtype, const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',', absl::SkipEmpty());
  Tensor tensor(dtype, Dims{static_cast<int64_t>(parts.size())});
  bool parsed = true;
  const bool found = DispatchDType(NumericTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < parts.size(); ++i) {
      double value = 0;
      parsed &= absl::SimpleAtod(parts[i], &value);
      tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<float>(value));
    }
  });
  if (!found || !parsed)
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a list of ", std::string(DTypeName(dtype))));
  return tensor;
}

absl::StatusOr<ValueId> AddOperand(Graph& graph, const std::string& text, size_t index) {
  std::string dims_text = text;
  DType dtype = DType::kFloat32;
  if (const size_t colon = text.find(':'); colon != std::string::npos) {
    const std::optional<DType> named = DTypeFromName(text.substr(0, colon));
    if (!named) return absl::InvalidArgumentError(absl::StrCat("unknown dtype in --shape ", text));
    dtype = *named;
    dims_text = text.substr(colon + 1);
  }
  const std::string name = absl::StrCat("x", index);
  if (!dims_text.empty() && dims_text[0] == '=') {
    ONWARD_ASSIGN_OR_RETURN(Tensor constant, ConstantOf(dtype, dims_text.substr(1)));
    return GraphEdit(graph).AddConstant(name, std::move(constant));
  }
  ONWARD_ASSIGN_OR_RETURN(const Dims dims, ParseDims(dims_text));
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(dtype, dims).status());
  return GraphEdit(graph).AddInput(name, Type::Tensor(dtype, dims));
}

absl::StatusOr<Attribute> ParseAttribute(const onnx::OpSchema& schema, const std::string& name,
                                         const std::string& text) {
  const auto it = schema.attributes().find(name);
  if (it == schema.attributes().end())
    return absl::InvalidArgumentError(
        absl::StrCat(schema.Name(), " has no attribute '", name, "'"));
  const std::vector<std::string> parts = absl::StrSplit(text, ',', absl::SkipEmpty());
  std::vector<int64_t> ints(parts.size());
  std::vector<float> floats(parts.size());
  bool are_ints = true, are_floats = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    are_ints &= absl::SimpleAtoi(parts[i], &ints[i]);
    are_floats &= absl::SimpleAtof(parts[i], &floats[i]);
  }
  switch (it->second.type) {
    case onnx::AttributeProto::INT:
      if (are_ints && ints.size() == 1) return Attribute(ints[0]);
      break;
    case onnx::AttributeProto::INTS:
      if (are_ints) return Attribute(ints);
      break;
    case onnx::AttributeProto::FLOAT:
      if (are_floats && floats.size() == 1) return Attribute(floats[0]);
      break;
    case onnx::AttributeProto::FLOATS:
      if (are_floats) return Attribute(floats);
      break;
    case onnx::AttributeProto::STRING:
      return Attribute(text);
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "attribute ", name, "=", text, " is not of the kind that ", schema.Name(), " takes"));
}

}  // namespace

absl::StatusOr<Model> OperatorModel(const std::string& op, const std::vector<std::string>& shapes,
                                    const std::vector<std::string>& attributes) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(kOpset), "");
  if (schema == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("ai.onnx has no operator '", op, "'"));
  Model model;
  model.opsets[""] = kOpset;
  model.ir_version = 13;
  model.graph.name = op;
  Node node;
  node.schema = schema;
  node.op_type = op;
  node.name = op;
  for (size_t i = 0; i < shapes.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const ValueId id, AddOperand(model.graph, shapes[i], i));
    node.inputs.push_back(id);
  }
  for (const std::string& text : attributes) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    ONWARD_ASSIGN_OR_RETURN(Attribute attribute,
                            ParseAttribute(*schema, parts.first, parts.second));
    node.attributes.Set(parts.first, std::move(attribute));
  }
  for (int i = 0; i < std::max(1, schema->min_output()); ++i) {
    const ValueId id = GraphEdit(model.graph).AddValue(absl::StrCat("y", i), Type());
    node.outputs.push_back(id);
    GraphEdit(model.graph).AddOutput(id);
  }
  GraphEdit(model.graph).AddNode(std::move(node));
  ONWARD_RETURN_IF_ERROR(InferGraph(model.graph));
  return model;
}

}  // namespace onward::cli
