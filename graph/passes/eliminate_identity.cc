// Nodes whose result is their input, bit for bit.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

std::optional<Patch> Bypass(const Graph& graph, const Node& node, ValueId to) {
  const ValueId from = node.outputs[0];
  // An Identity between an input and an output has to stay.
  if (node.Is("Identity") && graph.is_output(from) && graph.users(from).empty() &&
      !CanTakeOutputName(graph, from, to)) {
    return std::nullopt;
  }
  Patch patch(graph);
  patch.Replace(from, to);
  return patch;
}

std::optional<Patch> BypassIf(bool condition, const Graph& graph, const Node& node) {
  if (!condition) return std::nullopt;
  return Bypass(graph, node, node.inputs[0]);
}

std::optional<Patch> Identity(const Graph& graph, NodeId root) {
  return BypassIf(true, graph, graph.node(root));
}

std::optional<Patch> Dropout(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId training = InputOf(node, 2);
  const bool inference = !training.valid() || ScalarValue(graph, training) == 0.0;
  const bool mask = node.outputs.size() > 1 && node.outputs[1].valid() &&
                    (!graph.users(node.outputs[1]).empty() || graph.is_output(node.outputs[1]));
  return BypassIf(inference && !mask, graph, node);
}

std::optional<Patch> SameTypeCast(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Type& from = graph.type(node.inputs[0]);
  const DType to = node.Is("Cast") ? static_cast<DType>(node.attributes.Int("to", 0))
                                   : graph.type(node.inputs[1]).dtype;
  return BypassIf(from.is_tensor() && from.dtype == to && to != DType::kUndefined, graph, node);
}

// Reshape and Expand keep the order of elements, so an equal shape means equal values.
std::optional<Patch> SameShapeResult(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  return BypassIf(SameShape(graph.type(node.inputs[0]), graph.type(node.outputs[0])), graph, node);
}

std::optional<Patch> Transpose(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::vector<int64_t> perm = node.attributes.Ints("perm");
  bool identity =
      !perm.empty() || RankOf(graph, node.inputs[0]) == 0 || RankOf(graph, node.inputs[0]) == 1;
  for (size_t i = 0; i < perm.size(); ++i) identity &= perm[i] == static_cast<int64_t>(i);
  return BypassIf(identity, graph, node);
}

bool AllEqual(const std::optional<std::vector<int64_t>>& values, int64_t expected) {
  return values && std::all_of(values->begin(), values->end(),
                               [&](int64_t value) { return value == expected; });
}

std::optional<Patch> Slice(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (InputOf(node, 4).valid() && !AllEqual(IntElements(graph, node.inputs[4]), 1)) {
    return std::nullopt;
  }
  if (SameShape(graph.type(node.inputs[0]), graph.type(node.outputs[0]))) {
    return Bypass(graph, node, node.inputs[0]);
  }
  const auto ends = IntElements(graph, node.inputs[2]);
  const bool to_the_end = ends && std::all_of(ends->begin(), ends->end(), [](int64_t end) {
                            return end >= std::numeric_limits<int32_t>::max();
                          });
  return BypassIf(to_the_end && AllEqual(IntElements(graph, node.inputs[1]), 0), graph, node);
}

std::optional<Patch> Pad(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  return BypassIf(AllEqual(IntElements(graph, node.inputs[1]), 0), graph, node);
}

std::optional<Patch> OfOne(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  return BypassIf(node.inputs.size() == 1, graph, node);
}

// A condition that is the same everywhere, and a branch of the result's shape.
std::optional<Patch> UniformWhere(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Tensor* condition = FixedConstant(graph, node.inputs[0]);
  if (condition == nullptr || condition->num_elements() == 0) return std::nullopt;
  const absl::Span<const bool> elements = condition->span<bool>();
  const bool first = elements[0];
  if (std::count(elements.begin(), elements.end(), first) != std::ssize(elements))
    return std::nullopt;
  const ValueId branch = node.inputs[first ? 1 : 2];
  if (!SameShape(graph.type(branch), graph.type(node.outputs[0]))) return std::nullopt;
  return Bypass(graph, node, branch);
}

// Not(Not(x)), Neg(Neg(x)).
std::optional<Patch> Involution(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* inner = MadeBy(graph, node.inputs[0], node.op_type);
  if (inner == nullptr) return std::nullopt;
  return Bypass(graph, node, inner->inputs[0]);
}

// x + 0 is not x when x is -0, but x + -0 and x - 0 are.
bool IsNeutral(const Graph& graph, const Node& node, double scalar, bool right) {
  if (node.Is("Mul")) return scalar == 1;
  if (node.Is("Div") || node.Is("Pow")) return right && scalar == 1;
  const bool floating = IsFloating(graph.type(node.inputs[0]).dtype);
  if (node.Is("Add")) return scalar == 0 && (!floating || std::signbit(scalar));
  if (node.Is("Sub")) return right && scalar == 0 && (!floating || !std::signbit(scalar));
  if (node.Is("Or") || node.Is("Xor")) return scalar == 0;
  return node.Is("And") && scalar == 1;
}

std::optional<Patch> NeutralScalar(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<WithScalar> split = SplitScalar(graph, node);
  if (!split) return std::nullopt;
  const bool right = node.inputs[0] == split->other;
  if (!IsNeutral(graph, node, split->scalar, right)) return std::nullopt;
  if (graph.type(split->other).dtype != graph.type(node.outputs[0]).dtype) return std::nullopt;
  return Bypass(graph, node, split->other);
}

constexpr Rule kRules[] = {
    {"remove_identity", "Identity", Identity},
    {"remove_dropout", "Dropout", Dropout},
    {"remove_cast", "Cast", SameTypeCast},
    {"remove_cast", "CastLike", SameTypeCast},
    {"remove_reshape", "Reshape", SameShapeResult},
    {"remove_flatten", "Flatten", SameShapeResult},
    {"remove_squeeze", "Squeeze", SameShapeResult},
    {"remove_expand", "Expand", SameShapeResult},
    {"remove_transpose", "Transpose", Transpose},
    {"remove_slice", "Slice", Slice},
    {"remove_pad", "Pad", Pad},
    {"remove_where", "Where", UniformWhere},
    {"remove_concat", "Concat", OfOne},
    {"remove_sum", "Sum", OfOne},
    {"remove_mean", "Mean", OfOne},
    {"remove_max", "Max", OfOne},
    {"remove_min", "Min", OfOne},
    {"remove_double_not", "Not", Involution},
    {"remove_double_neg", "Neg", Involution},
    {"remove_add", "Add", NeutralScalar},
    {"remove_sub", "Sub", NeutralScalar},
    {"remove_mul", "Mul", NeutralScalar},
    {"remove_div", "Div", NeutralScalar},
    {"remove_pow", "Pow", NeutralScalar},
    {"remove_or", "Or", NeutralScalar},
    {"remove_xor", "Xor", NeutralScalar},
    {"remove_and", "And", NeutralScalar},
};

}  // namespace

absl::StatusOr<int> EliminateIdentity(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
