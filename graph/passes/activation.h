// Activations as the fused ops name them (see graph/ops/activation.h).
#pragma once

#include <optional>
#include <string>

#include "onward/graph.h"

namespace onward {

struct ActivationCall {
  ValueId input;
  std::string name;
  float alpha = 0;
  float beta = 0;
};

// The activation that the node is; nullopt when no fused op knows it.
std::optional<ActivationCall> ReadActivation(const Graph& graph, const Node& node);

// Returns whether the fused node has no activation yet.
bool HasNoActivation(const Node& node);
void SetActivation(const ActivationCall& call, Attributes& attributes);

// Returns whether an attribute, which is float32, may stand for a number that tensors of the dtype
// are computed with: of a double it keeps half of the digits.
bool FitsAttribute(double number, DType dtype);

}  // namespace onward
