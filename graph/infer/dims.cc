#include "graph/infer/dims.h"

#include <string_view>

#include "graph/infer/dim_rules.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"

namespace onward {
namespace {

// Types of outputs of which the schema's inference function, if there is one, says nothing.
struct TypeRule {
  std::string_view domain;
  std::string_view op;
  Type (*type)(const Graph& graph, const Node& node, size_t output);
};

Type LikeFirstInput(const Graph& graph, const Node& node, size_t) {
  return graph.type(node.inputs[0]);
}

Type FloatLikeFirstInput(const Graph& graph, const Node& node, size_t) {
  Type type = graph.type(node.inputs[0]);
  type.dtype = DType::kFloat32;
  return type;
}

// float32[N, width], for inputs [N, features] and [features].
Type FloatRows(const Graph& graph, const Node& node, Dim width) {
  const Type& input = graph.type(node.inputs[0]);
  if (!input.is_tensor() || !input.shape) return Type::Tensor(DType::kFloat32);
  const Dim rows = input.shape->size() < 2 ? Dim(1) : (*input.shape)[0];
  return Type::Tensor(DType::kFloat32, SymbolicDims{rows, std::move(width)});
}

Type LinearRegressor(const Graph& graph, const Node& node, size_t) {
  return FloatRows(graph, node, Dim(node.attributes.Int("targets", 1)));
}
Type SvmRegressor(const Graph& graph, const Node& node, size_t) {
  return FloatRows(graph, node, Dim(1));
}
Type FeatureVectorizer(const Graph& graph, const Node& node, size_t) {
  Dim width(0);
  for (int64_t size : node.attributes.Ints("inputdimensions")) width = DimAdd(width, Dim(size));
  return FloatRows(graph, node, width);
}

// Labels [N] and scores [N, classes]; `columns` is the scores' width.
Type Classified(const Graph& graph, const Node& node, size_t output, Dim columns) {
  if (output == 1) return FloatRows(graph, node, std::move(columns));
  Type labels = FloatRows(graph, node, Dim());
  if (labels.shape) labels.shape->pop_back();
  const bool text = !node.attributes.Strings("classlabels_strings").empty();
  labels.dtype = text ? DType::kString : DType::kInt64;
  return labels;
}
Type TreeEnsembleClassifier(const Graph& graph, const Node& node, size_t output) {
  const size_t classes = node.attributes.Strings("classlabels_strings").size() +
                         node.attributes.Ints("classlabels_int64s").size();
  // One label may stand for a binary classifier, which has two scores.
  return Classified(graph, node, output, classes > 1 ? Dim(static_cast<int64_t>(classes)) : Dim());
}
// Scores of classes or of pairs of them.
Type SvmClassifier(const Graph& graph, const Node& node, size_t output) {
  return Classified(graph, node, output, Dim());
}
Type TreeEnsembleRegressor(const Graph& graph, const Node& node, size_t) {
  return FloatRows(graph, node, Dim(node.attributes.Int("n_targets", 1)));
}

// The gradients of y by xs have the types of xs, the first inputs.
Type Gradient(const Graph& graph, const Node& node, size_t output) {
  const bool given = output < node.inputs.size() && node.inputs[output].valid();
  return given ? graph.type(node.inputs[output]) : Type();
}

constexpr TypeRule kTypeRules[] = {
    {"", "GroupNormalization", LikeFirstInput},
    {"", "MeanVarianceNormalization", LikeFirstInput},
    {"ai.onnx.ml", "FeatureVectorizer", FeatureVectorizer},
    {"ai.onnx.ml", "Imputer", LikeFirstInput},
    {"ai.onnx.ml", "LinearRegressor", LinearRegressor},
    {"ai.onnx.ml", "Normalizer", FloatLikeFirstInput},
    {"ai.onnx.ml", "SVMClassifier", SvmClassifier},
    {"ai.onnx.ml", "SVMRegressor", SvmRegressor},
    {"ai.onnx.ml", "Scaler", FloatLikeFirstInput},
    {"ai.onnx.ml", "TreeEnsembleClassifier", TreeEnsembleClassifier},
    {"ai.onnx.ml", "TreeEnsembleRegressor", TreeEnsembleRegressor},
    {"ai.onnx.preview.training", "Gradient", Gradient},
};

std::optional<SymbolicDims> BroadcastInputs(const InferScope& scope, size_t output) {
  if (output != 0) return std::nullopt;
  SymbolicDims dims;
  for (size_t i = 0; i < scope.node.inputs.size(); ++i) {
    if (!scope.HasInput(i)) continue;
    if (scope.Shape(i) == nullptr) return std::nullopt;
    dims = BroadcastSymbolic(dims, *scope.Shape(i));
  }
  return dims;
}

// Ops with the standard's multidirectional broadcasting of all inputs.
constexpr std::string_view kBroadcasting[] = {
    "Add",        "And",         "BitShift", "BitwiseAnd",  "BitwiseOr",
    "BitwiseXor", "Div",         "Equal",    "Greater",     "GreaterOrEqual",
    "Less",       "LessOrEqual", "Max",      "Mean",        "Min",
    "Mod",        "Mul",         "Or",       "Pow",         "Sub",
    "Sum",        "Where",       "Xor",      "StringConcat"};

std::optional<SymbolicDims> OwnDims(const InferScope& scope, size_t output) {
  const std::string& op = scope.node.op_type;
  for (std::string_view name : kBroadcasting) {
    if (name == op) return BroadcastInputs(scope, output);
  }
  for (const auto& rules :
       {AttentionDimRules(), LayoutDimRules(), ReduceDimRules(), WindowDimRules()}) {
    for (const DimRule& rule : rules) {
      if (rule.op == op) return rule.dims(scope, output);
    }
  }
  return std::nullopt;
}

bool Open(const Type& type) {
  if (!type.is_tensor()) return false;
  if (!type.shape) return true;
  for (const Dim& dim : *type.shape) {
    if (dim.unknown()) return true;
  }
  return false;
}

}  // namespace

SymbolicDims BroadcastSymbolic(const SymbolicDims& a, const SymbolicDims& b) {
  if (a.size() < b.size()) return BroadcastSymbolic(b, a);
  SymbolicDims result = a;
  const size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    result[offset + i] = DimBroadcast(a[offset + i], b[i]);
  }
  return result;
}

void FillTypes(const Graph& graph, NodeId id, const KnownElements& known,
               std::vector<Type>& types) {
  const Node& node = graph.node(id);
  for (const TypeRule& rule : kTypeRules) {
    if (rule.op != node.op_type || rule.domain != node.domain) continue;
    for (size_t i = 0; i < types.size(); ++i) {
      if (!node.schema->has_type_and_shape_inference_function() || !types[i].is_tensor() ||
          !types[i].shape) {
        types[i] = rule.type(graph, node, i);
      }
    }
  }
  if (!node.domain.empty() && node.domain != kOnwardDomain) return;
  if (node.op_type == "SequenceInsert" &&
      InferScope{graph, node, known}.Elements(0) == SymbolicDims{Dim(0)}) {
    types[0] = Type::Sequence(graph.type(node.inputs[1]));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    // ONNX's function returns 0 for a hidden size that is not a number.
    if (node.op_type == "Attention" && types[i].is_tensor()) types[i].shape.reset();
    // ... and takes products of sizes and scales without rounding them to float32.
    const bool scaled = node.op_type == "Resize" && !InferScope{graph, node, known}.HasInput(3);
    if (scaled && types[i].shape) types[i].shape = SymbolicDims(types[i].shape->size());
    if (!Open(types[i])) continue;
    const std::optional<SymbolicDims> dims = OwnDims({graph, node, known}, i);
    if (!dims) continue;
    if (!types[i].shape) types[i].shape = SymbolicDims(dims->size());
    if (types[i].shape->size() != dims->size()) continue;
    for (size_t axis = 0; axis < dims->size(); ++axis) {
      Dim& dim = (*types[i].shape)[axis];
      // A negative size is the model's error; the kernel reports it.
      if (dim.unknown() && !DimAtLeast(NumberDim(-1), (*dims)[axis])) dim = (*dims)[axis];
    }
  }
}

}  // namespace onward
