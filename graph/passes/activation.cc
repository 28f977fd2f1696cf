#include "graph/passes/activation.h"

#include <limits>

#include "graph/ops/activation.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

std::optional<ActivationCall> ReadClip(const Graph& graph, const Node& node) {
  const float infinity = std::numeric_limits<float>::infinity();
  ActivationCall call{node.inputs[0], "clip", -infinity, infinity};
  for (int i = 1; i <= 2; ++i) {
    const ValueId bound = InputOf(node, i);
    if (!bound.valid()) continue;
    const std::optional<double> value = ScalarValue(graph, bound);
    if (!value || !FitsAttribute(*value, graph.type(node.inputs[0]).dtype)) return std::nullopt;
    (i == 1 ? call.alpha : call.beta) = static_cast<float>(*value);
  }
  return call;
}

}  // namespace

std::optional<ActivationCall> ReadActivation(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty()) return std::nullopt;
  const ActivationRow* row = ActivationOf(node.op_type, node.attributes);
  if (row == nullptr) return std::nullopt;
  if (row->kind == Activation::kClip) return ReadClip(graph, node);
  const auto value = [&](const ActivationRow::Parameter& parameter) {
    return parameter.attribute.empty()
               ? 0
               : node.attributes.Float(parameter.attribute, parameter.otherwise);
  };
  return ActivationCall{node.inputs[0], std::string(row->name), value(row->alpha),
                        value(row->beta)};
}

bool HasNoActivation(const Node& node) { return node.attributes.String("activation").empty(); }

void SetActivation(const ActivationCall& call, Attributes& attributes) {
  attributes.Set("activation", call.name);
  attributes.Set("activation_alpha", call.alpha);
  attributes.Set("activation_beta", call.beta);
}

bool FitsAttribute(double number, DType dtype) {
  return dtype != DType::kFloat64 || static_cast<double>(static_cast<float>(number)) == number;
}

}  // namespace onward
