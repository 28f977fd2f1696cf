#include "onward/formula.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/builder/formula_schema.h"
#include "graph/builder/patch_sink.h"
#include "graph/infer/merge.h"
#include "graph/infer/type_proto.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/signature.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"
#include "onnx/defs/tensor_proto_util.h"
#include "onward/status.h"

namespace onward {
namespace {

std::optional<Attribute> AttributeOf(const onnx::AttributeProto& proto) {
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      return Attribute(int64_t{proto.i()});
    case onnx::AttributeProto::FLOAT:
      return Attribute(proto.f());
    case onnx::AttributeProto::STRING:
      return Attribute(proto.s());
    case onnx::AttributeProto::INTS:
      return Attribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case onnx::AttributeProto::FLOATS:
      return Attribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case onnx::AttributeProto::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    default:
      return std::nullopt;
  }
}

// Elements of an input that are known, as dims.
std::optional<SymbolicDims> KnownInput(const onnx::InferenceContext& ctx, size_t i) {
  const onnx::TensorShapeProto* symbolic = ctx.getSymbolicInput(i);
  if (symbolic != nullptr) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
    *type.mutable_tensor_type()->mutable_shape() = *symbolic;
    return TypeFromProto(type).shape;
  }
  const onnx::TensorProto* data = ctx.getInputData(i);
  if (data == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  if (data->data_type() == onnx::TensorProto::INT64) {
    values = onnx::ParseData<int64_t>(data);
  } else if (data->data_type() == onnx::TensorProto::INT32) {
    for (const int32_t value : onnx::ParseData<int32_t>(data)) values.push_back(value);
  } else {
    return std::nullopt;
  }
  SymbolicDims dims;
  for (const int64_t value : values) dims.push_back(NumberDim(value));
  return dims;
}

// The type inference of an op that has a formula. A schema carries its formula in here.
struct FormulaInference {
  Formula formula;
  Attributes defaults;
  std::vector<std::string> attribute_names;

  void operator()(onnx::InferenceContext& ctx) const;
};

void FormulaInference::operator()(onnx::InferenceContext& ctx) const {
  Graph graph;
  GraphSink sink(graph);
  std::set<std::string> symbols;
  std::vector<Expr> inputs(ctx.getNumInputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!ctx.hasInput(i)) continue;
    Type type = TypeFromProto(*ctx.getInputType(i));
    AddSymbols(type, symbols);
    inputs[i] = sink.Value(GraphEdit(graph).AddInput(absl::StrCat("in", i), std::move(type)));
    if (std::optional<SymbolicDims> known = KnownInput(ctx, i)) {
      sink.known()[inputs[i].id().index] = *std::move(known);
    }
  }
  std::vector<bool> wanted(ctx.getNumOutputs());
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = ctx.hasOutput(i);
  Attributes attributes = defaults;
  for (const std::string& name : attribute_names) {
    const onnx::AttributeProto* proto = ctx.getAttribute(name);
    if (proto == nullptr) continue;
    if (std::optional<Attribute> value = AttributeOf(*proto)) attributes.Set(name, *value);
  }
  const std::vector<Expr> outputs =
      formula(FormulaCall(sink, std::move(inputs), wanted, std::move(attributes)));
  if (absl::IsFailedPrecondition(sink.status())) return;
  if (!sink.status().ok()) throw onnx::InferenceError(std::string(sink.status().message()));
  for (size_t i = 0; i < wanted.size() && i < outputs.size(); ++i) {
    if (wanted[i] && outputs[i].valid()) {
      TypeToProto(KeepSymbols(outputs[i].type(), symbols), ctx.getOutputType(i));
    }
  }
}

// The node's own attributes over the schema's defaults.
Attributes WithDefaults(const Attributes& own, const Attributes& defaults) {
  Attributes all = defaults;
  for (const auto& [name, value] : own.map()) all.Set(name, value);
  return all;
}

}  // namespace

void FormulaCall::Fail(std::string message) const {
  sink_.Fail(absl::InvalidArgumentError(std::move(message)));
}

int64_t FormulaCall::Int(std::string_view attribute) const {
  const int64_t value = attributes_.Int(attribute, 0);
  if (value == static_cast<int32_t>(value)) return value;
  Fail(absl::StrCat("attribute '", std::string(attribute), "' is ", value,
                    ", which is out of range"));
  return 1;
}

int64_t FormulaCall::Rank(size_t index) const {
  const Type& type = input(index).type();
  if (type.shape) return static_cast<int64_t>(type.shape->size());
  sink_.Fail(absl::FailedPreconditionError(
      absl::StrCat("the rank of input ", index, " is not known, which this op needs")));
  return 0;
}

int64_t FormulaCall::Dim(size_t index, int64_t axis) const {
  const int64_t rank = Rank(index);
  if (axis < 0) axis += rank;
  if (!sink_.status().ok()) return 0;
  if (axis < 0 || axis >= rank) {
    Fail(absl::StrCat("input ", index, " has rank ", rank, ", too few for this op"));
    return 0;
  }
  const onward::Dim& dim = (*input(index).type().shape)[static_cast<size_t>(axis)];
  if (dim.known()) return dim.value();
  sink_.Fail(absl::FailedPreconditionError(absl::StrCat(
      "dim ", axis, " of input ", index, " is ", dim.ToString(), ", but this op needs its size")));
  return 0;
}

absl::StatusOr<onnx::OpSchema> FormulaSchema(const std::string& domain, const FormulaOp& op) {
  ONWARD_ASSIGN_OR_RETURN(onnx::OpSchema schema, SchemaFromSignature(domain, op.signature));
  if (op.formula == nullptr) {
    schema.TypeAndShapeInferenceFunction(op.types);
    return schema;
  }
  FormulaInference inference{op.formula, {}, {}};
  for (const auto& [name, attribute] : schema.attributes()) {
    inference.attribute_names.push_back(name);
    const std::optional<Attribute> value = AttributeOf(attribute.default_value);
    if (value) inference.defaults.Set(name, *value);
  }
  schema.TypeAndShapeInferenceFunction(std::move(inference));
  return schema;
}

std::vector<onnx::OpSchema> FormulaSchemas(const std::string& domain,
                                           absl::Span<std::vector<FormulaOp> (*const)()> families) {
  std::vector<onnx::OpSchema> schemas;
  for (const auto& family : families) {
    for (const FormulaOp& op : family()) {
      absl::StatusOr<onnx::OpSchema> schema = FormulaSchema(domain, op);
      if (!schema.ok()) {
        std::fprintf(stderr, "%s\n", std::string(schema.status().message()).c_str());
        std::abort();
      }
      schemas.push_back(*std::move(schema));
    }
  }
  return schemas;
}

bool HasFormula(const onnx::OpSchema& schema) {
  return schema.GetTypeAndShapeInferenceFunction().target<FormulaInference>() != nullptr;
}

absl::StatusOr<std::vector<Expr>> WriteFormula(GraphSink& sink, const Node& node) {
  const onnx::InferenceFunction inference = node.schema->GetTypeAndShapeInferenceFunction();
  const FormulaInference& op = *inference.target<FormulaInference>();
  std::vector<Expr> inputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? sink.Value(input) : Expr());
  }
  std::vector<bool> wanted;
  for (const ValueId output : node.outputs) wanted.push_back(output.valid());
  std::vector<Expr> outputs = op.formula(FormulaCall(sink, std::move(inputs), std::move(wanted),
                                                     WithDefaults(node.attributes, op.defaults)));
  ONWARD_RETURN_IF_ERROR(sink.status());
  return outputs;
}

absl::StatusOr<bool> ExpandFormula(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.schema == nullptr) return false;
  const onnx::InferenceFunction inference = node.schema->GetTypeAndShapeInferenceFunction();
  const FormulaInference* op = inference.target<FormulaInference>();
  if (op == nullptr) return false;
  const std::string where = graph.Describe(id);
  Patch patch(absl::StrCat("expand_functions @ ", where), graph);
  PatchSink sink(patch);
  std::vector<Expr> inputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? sink.Value(input) : Expr());
  }
  std::vector<bool> wanted;
  for (const ValueId output : node.outputs) wanted.push_back(output.valid());
  const std::vector<Expr> outputs = op->formula(FormulaCall(
      sink, std::move(inputs), std::move(wanted), WithDefaults(node.attributes, op->defaults)));
  if (!sink.status().ok()) return Annotate(sink.status(), where);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    if (i >= outputs.size() || !outputs[i].valid()) {
      return absl::InternalError(absl::StrCat(where, " its formula does not compute output ", i));
    }
    patch.Replace(node.outputs[i], outputs[i].id());
  }
  patch.Remove(id);
  ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
  return true;
}

}  // namespace onward
