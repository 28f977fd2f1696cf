// Losses over classes and their gradients that read scores of 16 bits and compute in float: under
// mixed precision the scores are by far the largest tensor of a language model, and would be cast
// to float and back.
#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// A value as it was before a Cast from 16 bits to float, and the target of the Reshape behind that,
// if there is one.
struct Narrow {
  ValueId value, target;
};

std::optional<Narrow> NarrowOf(const Graph& graph, ValueId wide) {
  Narrow narrow;
  const Node* reshape = MadeBy(graph, wide, "Reshape");
  if (reshape != nullptr) narrow.target = reshape->inputs[1];
  const Node* cast = MadeBy(graph, reshape == nullptr ? wide : reshape->inputs[0], "Cast");
  if (cast == nullptr || graph.type(wide).dtype != DType::kFloat32) return std::nullopt;
  narrow.value = cast->inputs[0];
  const DType dtype = graph.type(narrow.value).dtype;
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) return std::nullopt;
  return narrow;
}

ValueId Scores(Patch& patch, const Narrow& narrow) {
  return narrow.target.valid() ? patch.AddNode("Reshape", {narrow.value, narrow.target})
                               : narrow.value;
}

std::optional<Patch> Loss(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const bool weighted = InputOf(node, 2).valid();
  const bool has_log_prob = node.outputs.size() > 1 && node.outputs[1].valid();
  const std::optional<Narrow> narrow = NarrowOf(graph, node.inputs[0]);
  if (!narrow || weighted || has_log_prob) return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("WideSoftmaxCrossEntropyLoss",
                                               {Scores(patch, *narrow), node.inputs[1]},
                                               node.attributes, kOnwardDomain));
  return patch;
}

// The gradient in the scores' own type.
std::optional<Patch> Gradient(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* reshape = MadeBy(graph, node.inputs[0], "Reshape");
  const NodeId maker = Maker(graph, reshape == nullptr ? node.inputs[0] : reshape->inputs[0]);
  if (!maker.valid() || !graph.node(maker).Is("SoftmaxCrossEntropyLossGradient", kOnwardDomain))
    return std::nullopt;
  const Node* gradient = &graph.node(maker);
  const std::optional<Narrow> narrow = NarrowOf(graph, gradient->inputs[0]);
  if (!narrow || graph.type(narrow->value).dtype != graph.type(node.outputs[0]).dtype)
    return std::nullopt;
  Patch patch(graph);
  const ValueId dx = patch.AddNode(
      "SoftmaxCrossEntropyLossGradient",
      {Scores(patch, *narrow), gradient->inputs[1], gradient->inputs[2]}, {}, kOnwardDomain);
  patch.Replace(node.outputs[0],
                reshape == nullptr
                    ? dx
                    : patch.AddNode("Reshape", {dx, reshape->inputs[1]}, reshape->attributes));
  return patch;
}

constexpr Rule kRules[] = {{"widen_loss", "SoftmaxCrossEntropyLoss", Loss},
                           {"widen_loss_gradient", "Cast", Gradient}};

}  // namespace

absl::StatusOr<int> WidenLosses(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
