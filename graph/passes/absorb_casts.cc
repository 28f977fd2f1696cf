// Gradients that read and write floats of 16 bits themselves where mixed precision would cast these
// to float before the op and back behind it.
#include <utility>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// A value of 16 bits that a Cast has made float32; invalid for others.
ValueId BeforeWidening(const Graph& graph, ValueId value) {
  const ValueId narrow = BeforeCast(graph, value);
  const bool widens = narrow.valid() && IsNarrow(graph.type(narrow).dtype) &&
                      graph.type(value).dtype == DType::kFloat32;
  return widens ? narrow : ValueId();
}

// Makes the node read `input` as its input `i`. Its first output stands for `first`.
Patch ReadInstead(const Graph& graph, const Node& node, size_t i, ValueId input, ValueId first) {
  Node made;
  made.domain = node.domain;
  made.op_type = node.op_type;
  made.inputs = node.inputs;
  made.inputs[i] = input;
  made.attributes = node.attributes;
  Patch patch(graph);
  const std::vector<ValueId> outputs =
      patch.AddNodeWithOutputs(std::move(made), static_cast<int>(node.outputs.size()));
  if (first.valid()) patch.Replace(first, outputs[0]);
  for (size_t o = 1; o < outputs.size(); ++o)
    if (node.outputs[o].valid()) patch.Replace(node.outputs[o], outputs[o]);
  return patch;
}

// dX has dY's type: it must be cast to that alone.
std::optional<Patch> BatchNormalization(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId dy = BeforeWidening(graph, node.inputs[2]), dx = node.outputs[0];
  if (!dy.valid() || !ReadOnce(graph, dx)) return std::nullopt;
  const Node& reader = graph.node(OnlyReader(graph, dx));
  if (!reader.Is("Cast") || graph.type(reader.outputs[0]).dtype != graph.type(dy).dtype)
    return std::nullopt;
  return ReadInstead(graph, node, 2, dy, reader.outputs[0]);
}

// dX stays float: it is added to what goes round the normalised branch.
std::optional<Patch> LayerNormalization(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId dy = BeforeWidening(graph, node.inputs[2]);
  if (!dy.valid()) return std::nullopt;
  return ReadInstead(graph, node, 2, dy, node.outputs[0]);
}

// Sums are in float, and rounded as those of products of matrices are.
std::optional<Patch> ConvWeights(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId dy = BeforeWidening(graph, node.inputs[1]),
                cast = BeforeWidening(graph, node.inputs[0]);
  const ValueId x = cast.valid() ? cast : node.inputs[0];
  if (!dy.valid() || graph.type(x).dtype != graph.type(dy).dtype) return std::nullopt;
  Patch patch(graph);
  const ValueId sums =
      patch.AddNode(node.op_type, {x, dy}, node.attributes, std::string(kOnwardDomain));
  patch.Replace(node.outputs[0],
                patch.AddNode("Cast", {sums}, {{"to", static_cast<int64_t>(DType::kFloat32)}}));
  return patch;
}

std::optional<Patch> Relu(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId y = BeforeWidening(graph, node.inputs[0]);
  if (!y.valid()) return std::nullopt;
  return ReadInstead(graph, node, 0, y, node.outputs[0]);
}

constexpr Rule kRules[] = {
    {"absorb_casts", "onward.BatchNormalizationGradient", BatchNormalization},
    {"absorb_casts", "onward.LayerNormalizationGradient", LayerNormalization},
    {"absorb_casts", "onward.ConvWeightGradient", ConvWeights},
    {"absorb_casts", "onward.ReluGradient", Relu},
};

}  // namespace

absl::StatusOr<int> AbsorbCasts(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
