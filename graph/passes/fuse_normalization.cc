// Exported arithmetic becomes LayerNormalization or RMSNormalization: first the division by the
// deviation with a scale of ones, then the scale, the bias and the casts around it.
#include <algorithm>
#include <cmath>

#include "graph/passes/normalization_forms.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// As TrailingAxis, of a ReduceMean with keepdims.
int64_t AxisOfMean(const Graph& graph, const Node& node) {
  return node.attributes.Int("keepdims", 1) == 1 ? TrailingAxis(graph, node) : 0;
}

// sqrt(mean(x * x) + epsilon).
struct RootMeanSquare {
  ValueId x;
  int64_t axis = 0;
  double epsilon = 0;
};
std::optional<RootMeanSquare> ReadRootMeanSquare(const Graph& graph, ValueId value) {
  ValueId variance;
  const Node* root = MadeBy(graph, value, "Sqrt");
  if (root != nullptr) {
    variance = root->inputs[0];
  } else if (const Node* power = MadeBy(graph, value, "Pow");
             power != nullptr && ScalarValue(graph, power->inputs[1]) == 0.5) {
    variance = power->inputs[0];
  } else {
    return std::nullopt;
  }
  RootMeanSquare result;
  if (const Node* add = MadeBy(graph, variance, "Add")) {
    const auto split = SplitScalar(graph, *add);
    if (!split) return std::nullopt;
    result.epsilon = split->scalar;
    variance = split->other;
  }
  const Node* mean = MadeBy(graph, variance, "ReduceMean");
  if (mean == nullptr) return std::nullopt;
  result.axis = AxisOfMean(graph, *mean);
  result.x = Squared(graph, mean->inputs[0]);
  if (result.axis == 0 || !result.x.valid() || !(result.epsilon >= 0)) return std::nullopt;
  return result;
}

// The denominator of a / b, a * Reciprocal(b), a * (1 / b) or a * Pow(c, -0.5).
std::optional<RootMeanSquare> DividedBy(const Graph& graph, const Node& node, ValueId* numerator) {
  if (node.Is("Div")) {
    *numerator = node.inputs[0];
    return ReadRootMeanSquare(graph, node.inputs[1]);
  }
  for (size_t i = 0; i < 2; ++i) {
    *numerator = node.inputs[1 - i];
    if (const Node* inverse = MadeBy(graph, node.inputs[i], "Reciprocal")) {
      if (auto found = ReadRootMeanSquare(graph, inverse->inputs[0])) return found;
    }
    const Node* division = MadeBy(graph, node.inputs[i], "Div");
    if (division != nullptr && ScalarValue(graph, division->inputs[0]) == 1.0) {
      if (auto found = ReadRootMeanSquare(graph, division->inputs[1])) return found;
    }
  }
  return std::nullopt;
}

// x of x - mean(x) over the same axes.
ValueId Centered(const Graph& graph, ValueId value, int64_t axis) {
  const Node* difference = MadeBy(graph, value, "Sub");
  if (difference == nullptr) return {};
  const Node* mean = MadeBy(graph, difference->inputs[1], "ReduceMean");
  if (mean == nullptr || mean->inputs[0] != difference->inputs[0]) return {};
  return AxisOfMean(graph, *mean) == axis ? difference->inputs[0] : ValueId();
}

Tensor Ones(DType dtype, DimsView dims) {
  Tensor ones(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(ones.mutable_data<T>(), ones.num_elements(), T(1.0f));
  });
  return ones;
}

// The normalized dims when they are known.
std::optional<Dims> NormalizedDims(const Type& type, int64_t axis) {
  if (!type.shape || static_cast<int64_t>(type.shape->size()) < -axis) return std::nullopt;
  Dims dims;
  for (auto it = type.shape->end() + axis; it != type.shape->end(); ++it) {
    if (!it->known()) return std::nullopt;
    dims.push_back(it->value());
  }
  return dims;
}

std::optional<Patch> Normalization(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  ValueId numerator;
  const auto divisor = DividedBy(graph, node, &numerator);
  if (!divisor || divisor->x != numerator) return std::nullopt;
  const DType dtype = graph.type(numerator).dtype;
  // The standard's ops compute in float32, which is less than float64.
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    return std::nullopt;
  }
  const ValueId centered = Centered(graph, numerator, divisor->axis);
  const ValueId x = centered.valid() ? centered : numerator;
  const auto dims = NormalizedDims(graph.type(x), divisor->axis);
  if (!dims) return std::nullopt;
  Patch patch(graph);
  const ValueId ones = patch.AddConstant("", Ones(dtype, *dims));
  patch.Replace(
      node.outputs[0],
      patch.AddNode(centered.valid() ? "LayerNormalization" : "RMSNormalization", {x, ones},
                    {{"axis", divisor->axis}, {"epsilon", static_cast<float>(divisor->epsilon)}}));
  return patch;
}

bool AllOnes(const Graph& graph, ValueId id) {
  const Tensor* tensor = FixedConstant(graph, id);
  return tensor != nullptr && DispatchDType(FloatTypes(), tensor->dtype(), [](auto) {}) &&
         SameBits(*tensor, Ones(tensor->dtype(), tensor->dims()));
}

// The parameter with the dims that are normalized: as it is, or a constant without the dims of one
// element before them; invalid where it has others.
ValueId AsNormalized(const Graph& graph, const Node& normalization, ValueId parameter,
                     Patch& patch) {
  const Type& type = graph.type(parameter);
  const Type& scale = graph.type(normalization.inputs[1]);
  if (!type.is_tensor() || type.dtype != scale.dtype) return {};
  if (SameShape(type, scale)) return parameter;
  const Tensor* constant = FixedConstant(graph, parameter);
  const auto dims = scale.static_dims();
  const auto rank = static_cast<int64_t>(graph.type(normalization.outputs[0]).shape->size());
  if (constant == nullptr || !dims || constant->rank() > rank ||
      constant->dims().size() < dims->size() ||
      constant->dims().subspan(constant->dims().size() - dims->size()) != DimsView(*dims) ||
      constant->num_elements() != NumElements(*dims))
    return {};
  return patch.AddConstant("", constant->Reshaped(*dims));
}

const Node* NormalizationBefore(const Graph& graph, ValueId value) {
  if (!ReadOnce(graph, value)) return nullptr;
  const Node* node = MadeBy(graph, value, "LayerNormalization");
  if (node == nullptr) node = MadeBy(graph, value, "RMSNormalization");
  return node != nullptr && node->outputs.size() == 1 ? node : nullptr;
}

std::optional<Patch> Scale(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId scale = node.inputs[1 - i];
    const Node* before = NormalizationBefore(graph, node.inputs[i]);
    if (before == nullptr || NumInputs(*before) != 2 || scale == node.inputs[i] ||
        !AllOnes(graph, before->inputs[1])) {
      continue;
    }
    Patch patch(graph);
    const ValueId fitting = AsNormalized(graph, *before, scale, patch);
    if (!fitting.valid()) continue;
    patch.Replace(node.outputs[0],
                  patch.AddNode(before->op_type, {before->inputs[0], fitting}, before->attributes));
    return patch;
  }
  return std::nullopt;
}

std::optional<Patch> Bias(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId bias = node.inputs[1 - i];
    const Node* before = NormalizationBefore(graph, node.inputs[i]);
    if (before == nullptr || !before->Is("LayerNormalization") || NumInputs(*before) != 2 ||
        bias == node.inputs[i]) {
      continue;
    }
    Patch patch(graph);
    const ValueId fitting = AsNormalized(graph, *before, bias, patch);
    if (!fitting.valid()) continue;
    patch.Replace(node.outputs[0], patch.AddNode("LayerNormalization",
                                                 {before->inputs[0], before->inputs[1], fitting},
                                                 before->attributes));
    return patch;
  }
  return std::nullopt;
}

// Cast(normalize(Cast(x to float32))) back to x's type: what stash_type 1 says.
std::optional<Patch> Casts(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* before = NormalizationBefore(graph, node.inputs[0]);
  if (before == nullptr || NumInputs(*before) != 2 || !AllOnes(graph, before->inputs[1])) {
    return std::nullopt;
  }
  const Node* cast = MadeBy(graph, before->inputs[0], "Cast");
  const DType to = graph.type(node.outputs[0]).dtype;
  if (cast == nullptr || graph.type(cast->inputs[0]).dtype != to ||
      graph.type(node.inputs[0]).dtype != DType::kFloat32 ||
      (to != DType::kFloat16 && to != DType::kBFloat16)) {
    return std::nullopt;
  }
  Patch patch(graph);
  const ValueId ones = patch.AddConstant("", Ones(to, graph.constant(before->inputs[1])->dims()));
  patch.Replace(node.outputs[0],
                patch.AddNode(before->op_type, {cast->inputs[0], ones}, before->attributes));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_normalization", "Div", Normalization}, {"fuse_normalization", "Mul", Normalization},
    {"fuse_normalization_scale", "Mul", Scale},   {"fuse_normalization_bias", "Add", Bias},
    {"fuse_normalization_casts", "Cast", Casts},
};

}  // namespace

absl::StatusOr<int> FuseNormalization(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
