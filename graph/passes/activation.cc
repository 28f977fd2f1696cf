#include "graph/passes/activation.h"

#include <limits>

#include "graph/rewrite/match.h"

namespace onward {

namespace {

struct ActivationRow {
  std::string_view op;
  std::string_view name;
};
constexpr ActivationRow kPlain[] = {
    {"Relu", "relu"}, {"Sigmoid", "sigmoid"}, {"Tanh", "tanh"}, {"HardSwish", "hard_swish"}};

std::optional<ActivationCall> ReadClip(const Graph& graph, const Node& node) {
  const float infinity = std::numeric_limits<float>::infinity();
  ActivationCall call{node.inputs[0], "clip", -infinity, infinity};
  for (int i = 1; i <= 2; ++i) {
    const ValueId bound = InputOf(node, i);
    if (!bound.valid()) continue;
    const std::optional<double> value = ScalarValue(graph, bound);
    if (!value) return std::nullopt;
    (i == 1 ? call.alpha : call.beta) = static_cast<float>(*value);
  }
  return call;
}

}  // namespace

std::optional<ActivationCall> ReadActivation(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty()) return std::nullopt;
  const ValueId input = node.inputs[0];
  for (const ActivationRow& row : kPlain) {
    if (node.op_type == row.op) return ActivationCall{input, std::string(row.name)};
  }
  const Attributes& attributes = node.attributes;
  if (node.op_type == "Clip") return ReadClip(graph, node);
  if (node.op_type == "LeakyRelu") {
    return ActivationCall{input, "leaky_relu", attributes.Float("alpha", 0.01f)};
  }
  if (node.op_type == "Gelu") {
    return ActivationCall{
        input, attributes.String("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu"};
  }
  if (node.op_type == "Swish" && attributes.Float("alpha", 1.0f) == 1.0f) {
    return ActivationCall{input, "silu"};
  }
  if (node.op_type == "HardSigmoid") {
    return ActivationCall{input, "hard_sigmoid", attributes.Float("alpha", 0.2f),
                          attributes.Float("beta", 0.5f)};
  }
  return std::nullopt;
}

bool HasNoActivation(const Node& node) { return node.attributes.String("activation").empty(); }

void SetActivation(const ActivationCall& call, Attributes& attributes) {
  attributes.Set("activation", call.name);
  attributes.Set("activation_alpha", call.alpha);
  attributes.Set("activation_beta", call.beta);
}

}  // namespace onward
