// The arithmetic of TensorFlow, Keras and JAX for normalizations becomes
// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias, which fuse_normalization
// reads.
#include "graph/passes/normalization_forms.h"

#include <algorithm>
#include <cmath>

#include "graph/passes/passes.h"
#include "graph/rewrite/add_integers.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

bool KeepsDims(const Node& reduction) { return reduction.attributes.Int("keepdims", 1) == 1; }

// The number of elements that the trailing axes from `axis` on have; 0 where it is not known.
int64_t CountFrom(const Type& type, int64_t axis) {
  if (!type.shape || static_cast<int64_t>(type.shape->size()) < -axis) return 0;
  int64_t count = 1;
  for (auto it = type.shape->end() + axis; it != type.shape->end(); ++it) {
    if (!it->known()) return 0;
    count *= it->value();
  }
  return count;
}

ValueId AddMean(Patch& patch, ValueId x, ValueId axes, bool keeps_dims) {
  return patch.AddNode("ReduceMean", {x, axes}, {{"keepdims", int64_t{keeps_dims}}});
}

// sum(x) / n.
std::optional<Patch> MeanOfSum(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const auto split = SplitScalar(graph, node);
  if (!split || (node.Is("Div") && split->other != node.inputs[0])) return std::nullopt;
  const Node* sum = MadeBy(graph, split->other, "ReduceSum");
  if (sum == nullptr) return std::nullopt;
  const int64_t axis = TrailingAxis(graph, *sum);
  const int64_t count = axis == 0 ? 0 : CountFrom(graph.type(sum->inputs[0]), axis);
  const double factor = node.Is("Div") ? 1 / split->scalar : split->scalar;
  if (count == 0 || std::fabs(factor * static_cast<double>(count) - 1) > 1e-6 ||
      graph.type(sum->inputs[0]).dtype != graph.type(node.outputs[0]).dtype)
    return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0], AddMean(patch, sum->inputs[0], sum->inputs[1], KeepsDims(*sum)));
  return patch;
}

// tf2onnx writes the mean along the last of three axes as a pool.
std::optional<Patch> MeanOfPool(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (RankOf(graph, node.inputs[0]) != 3) return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0], AddMean(patch, node.inputs[0], AddIntegers(patch, {-1}),
                                         /*keeps_dims=*/true));
  return patch;
}

// A mean that gets its axes of one element from a Reshape or Unsqueeze.
std::optional<Patch> MeanWithDims(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* mean = MadeBy(graph, node.inputs[0], "ReduceMean");
  if (mean == nullptr || KeepsDims(*mean)) return std::nullopt;
  const int64_t axis = TrailingAxis(graph, *mean);
  const Type &x = graph.type(mean->inputs[0]), &y = graph.type(node.outputs[0]);
  if (axis == 0 || !x.shape || !y.shape || x.shape->size() != y.shape->size()) return std::nullopt;
  const size_t kept = x.shape->size() - static_cast<size_t>(-axis);
  for (size_t i = 0; i < x.shape->size(); ++i) {
    if (!(i < kept ? (*x.shape)[i].SameAs((*y.shape)[i]) : (*y.shape)[i] == Dim(1)))
      return std::nullopt;
  }
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                AddMean(patch, mean->inputs[0], mean->inputs[1], /*keeps_dims=*/true));
  return patch;
}

// mean(x^2) - mean(x)^2, whose digits cancel, is mean((x - mean(x))^2).
std::optional<Patch> Variance(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* squares = MadeBy(graph, node.inputs[0], "ReduceMean");
  const ValueId center = Squared(graph, node.inputs[1]);
  const Node* mean = center.valid() ? MadeBy(graph, center, "ReduceMean") : nullptr;
  if (squares == nullptr || mean == nullptr) return std::nullopt;
  const ValueId x = Squared(graph, squares->inputs[0]);
  const int64_t axis = TrailingAxis(graph, *squares);
  if (x != mean->inputs[0] || axis == 0 || axis != TrailingAxis(graph, *mean) ||
      KeepsDims(*squares) != KeepsDims(*mean) || !IsFloating(graph.type(x).dtype))
    return std::nullopt;
  Patch patch(graph);
  const ValueId kept =
      KeepsDims(*mean) ? center : AddMean(patch, x, mean->inputs[1], /*keeps_dims=*/true);
  const ValueId centered = patch.AddNode("Sub", {x, kept});
  patch.Replace(node.outputs[0], AddMean(patch, patch.AddNode("Mul", {centered, centered}),
                                         squares->inputs[1], KeepsDims(*squares)));
  return patch;
}

// max(0, mean(x^2)).
std::optional<Patch> NotNegative(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const auto is_mean = [&](ValueId value) {
    const Node* mean = MadeBy(graph, value, "ReduceMean");
    return mean != nullptr && Squared(graph, mean->inputs[0]).valid();
  };
  if (node.Is("Max") && node.inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId other = node.Is("Max") ? node.inputs[1 - i] : ValueId();
    if (!is_mean(node.inputs[i]) || (other.valid() && ScalarValue(graph, other) != 0.0) ||
        !SameShape(graph.type(node.inputs[i]), graph.type(node.outputs[0])))
      continue;
    Patch patch(graph);
    patch.Replace(node.outputs[0], node.inputs[i]);
    return patch;
  }
  return std::nullopt;
}

// Returns whether `value` is 1 / sqrt(...).
bool IsInverseRoot(const Graph& graph, ValueId value) {
  if (const Node* inverse = MadeBy(graph, value, "Reciprocal"))
    return MadeBy(graph, inverse->inputs[0], "Sqrt") != nullptr;
  const Node* division = MadeBy(graph, value, "Div");
  return division != nullptr && ScalarValue(graph, division->inputs[0]) == 1.0 &&
         MadeBy(graph, division->inputs[1], "Sqrt") != nullptr;
}

// Returns whether `value` is 1 / sqrt(...), perhaps with a scale.
bool IsGain(const Graph& graph, ValueId value) {
  if (IsInverseRoot(graph, value)) return true;
  const Node* product = MadeBy(graph, value, "Mul");
  return product != nullptr &&
         (IsInverseRoot(graph, product->inputs[0]) || IsInverseRoot(graph, product->inputs[1]));
}

// x of value = x * gain.
ValueId BesideGain(const Graph& graph, ValueId value, ValueId gain) {
  const Node* product = MadeBy(graph, value, "Mul");
  return product == nullptr ? ValueId() : OtherInput(*product, gain);
}

bool IsMeanOf(const Graph& graph, ValueId value, ValueId x) {
  const Node* mean = MadeBy(graph, value, "ReduceMean");
  return mean != nullptr && mean->inputs[0] == x && KeepsDims(*mean) &&
         TrailingAxis(graph, *mean) != 0;
}

// The parts of bias - mean(x) * gain.
struct Shift {
  ValueId mean;
  ValueId bias;  // invalid: none
};
std::optional<Shift> ReadShift(const Graph& graph, ValueId value, ValueId x, ValueId gain) {
  const auto reads = [&](ValueId term, bool negative, ValueId bias) -> std::optional<Shift> {
    ValueId mean = BesideGain(graph, term, gain);
    if (negative) {
      const Node* minus = MadeBy(graph, mean, "Neg");
      mean = minus == nullptr ? ValueId() : minus->inputs[0];
    }
    if (!IsMeanOf(graph, mean, x)) return std::nullopt;
    return Shift{mean, bias};
  };
  if (const Node* difference = MadeBy(graph, value, "Sub"))
    return reads(difference->inputs[1], false, difference->inputs[0]);
  if (const Node* sum = MadeBy(graph, value, "Add")) {
    const auto first = reads(sum->inputs[0], true, sum->inputs[1]);
    return first ? first : reads(sum->inputs[1], true, sum->inputs[0]);
  }
  return reads(value, true, {});
}

// x * gain + (bias - mean(x) * gain) is (x - mean(x)) * gain + bias.
std::optional<Patch> Centered(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const Node* product = MadeBy(graph, node.inputs[i], "Mul");
    if (product == nullptr) continue;
    for (size_t side = 0; side < 2; ++side) {
      const ValueId x = product->inputs[side], gain = product->inputs[1 - side];
      if (!IsGain(graph, gain)) continue;
      const auto shift = ReadShift(graph, node.inputs[1 - i], x, gain);
      if (!shift) continue;
      Patch patch(graph);
      ValueId value = patch.AddNode("Mul", {patch.AddNode("Sub", {x, shift->mean}), gain});
      if (shift->bias.valid()) value = patch.AddNode("Add", {value, shift->bias});
      patch.Replace(node.outputs[0], value);
      return patch;
    }
  }
  return std::nullopt;
}

// x * (1 / sqrt(...) * scale) is (x * 1 / sqrt(...)) * scale.
std::optional<Patch> ScaleLast(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const Node* gain = MadeBy(graph, node.inputs[1 - i], "Mul");
    if (gain == nullptr || MadeBy(graph, node.inputs[i], "Sub") == nullptr) continue;
    for (size_t side = 0; side < 2; ++side) {
      if (!IsInverseRoot(graph, gain->inputs[side])) continue;
      Patch patch(graph);
      const ValueId normalized = patch.AddNode("Mul", {node.inputs[i], gain->inputs[side]});
      patch.Replace(node.outputs[0], patch.AddNode("Mul", {normalized, gain->inputs[1 - side]}));
      return patch;
    }
  }
  return std::nullopt;
}

constexpr Rule kRules[] = {
    {"mean_of_sum", "Mul", MeanOfSum},
    {"mean_of_sum", "Div", MeanOfSum},
    {"mean_of_pool", "GlobalAveragePool", MeanOfPool},
    {"mean_with_dims", "Reshape", MeanWithDims},
    {"mean_with_dims", "Unsqueeze", MeanWithDims},
    {"variance", "Sub", Variance},
    {"not_negative", "Max", NotNegative},
    {"not_negative", "Relu", NotNegative},
    {"centered", "Add", Centered},
    {"scale_last", "Mul", ScaleLast},
};

}  // namespace

int64_t TrailingAxis(const Graph& graph, const Node& node) {
  if (!InputOf(node, 1).valid()) return 0;
  auto axes = IntElements(graph, node.inputs[1]);
  if (!axes || axes->empty()) return 0;
  const int rank = RankOf(graph, node.inputs[0]);
  for (int64_t& axis : *axes) {
    if (axis >= 0 && rank < 0) return 0;
    if (axis >= 0) axis -= rank;
  }
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != static_cast<int64_t>(i) - static_cast<int64_t>(axes->size())) return 0;
  }
  return axes->front();
}

ValueId Squared(const Graph& graph, ValueId value) {
  if (const Node* node = MadeBy(graph, value, "Mul")) {
    return node->inputs[0] == node->inputs[1] ? node->inputs[0] : ValueId();
  }
  const Node* node = MadeBy(graph, value, "Pow");
  return node != nullptr && ScalarValue(graph, node->inputs[1]) == 2.0 ? node->inputs[0]
                                                                       : ValueId();
}

absl::StatusOr<int> NormalizationForms(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
