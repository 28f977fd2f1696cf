// Activations from their parts: Swish, HardSigmoid, HardSwish, Softplus, Mish, Clip.
#include <cmath>

#include "graph/passes/activation.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

std::optional<Patch> ReplaceBy(const Graph& graph, const Node& node, std::string_view op, ValueId x,
                               Attributes attributes = {}) {
  switch (graph.type(x).dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
      break;
    default:
      return std::nullopt;
  }
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode(op, {x}, std::move(attributes)));
  return patch;
}

// x * sigmoid(alpha x), x * hardsigmoid(x), x * tanh(softplus(x)).
std::optional<Patch> Gated(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = node.inputs[i], gate = node.inputs[1 - i];
    if (!ReadOnce(graph, gate)) continue;
    if (const Node* sigmoid = MadeBy(graph, gate, "Sigmoid")) {
      const ValueId inner = sigmoid->inputs[0];
      if (inner == x) return ReplaceBy(graph, node, "Swish", x);
      const Node* scaled = MadeBy(graph, inner, "Mul");
      const auto split = scaled == nullptr ? std::nullopt : SplitScalar(graph, *scaled);
      if (split && split->other == x && FitsAttribute(split->scalar, graph.type(x).dtype)) {
        return ReplaceBy(graph, node, "Swish", x, {{"alpha", static_cast<float>(split->scalar)}});
      }
    }
    const Node* hard = MadeBy(graph, gate, "HardSigmoid");
    if (hard != nullptr && hard->inputs[0] == x &&
        std::fabs(hard->attributes.Float("alpha", 0.2f) - 1.0 / 6) < 1e-6 &&
        hard->attributes.Float("beta", 0.5f) == 0.5f) {
      return ReplaceBy(graph, node, "HardSwish", x);
    }
    const Node* tanh = MadeBy(graph, gate, "Tanh");
    const Node* softplus = tanh == nullptr ? nullptr : MadeBy(graph, tanh->inputs[0], "Softplus");
    if (softplus != nullptr && softplus->inputs[0] == x) return ReplaceBy(graph, node, "Mish", x);
  }
  return std::nullopt;
}

// x when `value` is clip(x + 3, 0, 6).
ValueId ClippedToSix(const Graph& graph, ValueId value) {
  const Node* clip = MadeBy(graph, value, "Clip");
  if (clip == nullptr || !ReadOnce(graph, value) || !InputOf(*clip, 1).valid() ||
      !InputOf(*clip, 2).valid() || ScalarValue(graph, clip->inputs[1]) != 0.0 ||
      ScalarValue(graph, clip->inputs[2]) != 6.0) {
    return {};
  }
  return BesideScalar(graph, clip->inputs[0], "Add", 3.0);
}

// The dividend of y / 6 or y * (1/6).
ValueId OverSix(const Graph& graph, const Node& node) {
  if (node.Is("Div")) {
    const bool six = ScalarValue(graph, node.inputs[1]) == 6.0 &&
                     (RankOf(graph, node.inputs[1]) == 0 || RankOf(graph, node.inputs[0]) >= 1);
    return six ? node.inputs[0] : ValueId();
  }
  return BesideScalar(graph, node.outputs[0], "Mul", 1.0 / 6);
}

// clip(x + 3, 0, 6) / 6 and x * clip(x + 3, 0, 6) / 6.
std::optional<Patch> Hard(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId dividend = OverSix(graph, node);
  if (!dividend.valid()) return std::nullopt;
  const bool fits = FitsAttribute(1.0 / 6, graph.type(dividend).dtype);
  if (const ValueId x = ClippedToSix(graph, dividend); fits && x.valid()) {
    return ReplaceBy(graph, node, "HardSigmoid", x,
                     {{"alpha", static_cast<float>(1.0 / 6)}, {"beta", 0.5f}});
  }
  const Node* product = MadeBy(graph, dividend, "Mul");
  if (product == nullptr || !ReadOnce(graph, dividend)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = product->inputs[i];
    if (ClippedToSix(graph, product->inputs[1 - i]) == x) {
      return ReplaceBy(graph, node, "HardSwish", x);
    }
  }
  return std::nullopt;
}

// log(1 + exp(x)).
std::optional<Patch> Softplus(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId exp = BesideScalar(graph, node.inputs[0], "Add", 1.0);
  const Node* inner = exp.valid() ? MadeBy(graph, exp, "Exp") : nullptr;
  if (inner == nullptr) return std::nullopt;
  return ReplaceBy(graph, node, "Softplus", inner->inputs[0]);
}

Tensor AsScalar(const Graph& graph, ValueId id) { return graph.constant(id)->Reshaped({}); }

// The scalar constant of a binary Max or Min, and the other operand.
std::optional<std::pair<ValueId, ValueId>> Bound(const Graph& graph, const Node& node) {
  const auto split = SplitScalar(graph, node);
  if (!split) return std::nullopt;
  const ValueId bound = node.inputs[node.inputs[0] == split->other ? 1 : 0];
  return std::pair(split->other, bound);
}

// min(max(x, low), high); max(min(x, high), low) is the same when low <= high.
std::optional<Patch> Clip(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const bool outer_is_min = node.Is("Min");
  const auto outer = Bound(graph, node);
  if (!outer) return std::nullopt;
  const Node* inner = MadeBy(graph, outer->first, outer_is_min ? "Max" : "Min");
  if (inner == nullptr || !ReadOnce(graph, outer->first)) return std::nullopt;
  const auto bound = Bound(graph, *inner);
  if (!bound) return std::nullopt;
  const ValueId low = outer_is_min ? bound->second : outer->second;
  const ValueId high = outer_is_min ? outer->second : bound->second;
  if (!(*ScalarValue(graph, low) <= *ScalarValue(graph, high))) return std::nullopt;
  Patch patch(graph);
  const ValueId low_scalar = patch.AddConstant("", AsScalar(graph, low));
  const ValueId high_scalar = patch.AddConstant("", AsScalar(graph, high));
  patch.Replace(node.outputs[0], patch.AddNode("Clip", {bound->first, low_scalar, high_scalar}));
  return patch;
}

// clip(relu(x), low, high) with 0 <= low.
std::optional<Patch> ClipOfRelu(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* relu = MadeBy(graph, node.inputs[0], "Relu");
  if (relu == nullptr || !InputOf(node, 1).valid()) return std::nullopt;
  const auto low = ScalarValue(graph, node.inputs[1]);
  if (!low || !(*low >= 0)) return std::nullopt;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = relu->inputs[0];
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("Clip", std::move(inputs)));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_gated_activation", "Mul", Gated},
    {"fuse_hard_activation", "Mul", Hard},
    {"fuse_hard_activation", "Div", Hard},
    {"fuse_softplus", "Log", Softplus},
    {"fuse_clip", "Min", Clip},
    {"fuse_clip", "Max", Clip},
    {"fuse_clip_relu", "Clip", ClipOfRelu},
};

}  // namespace

absl::StatusOr<int> FuseActivations(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
