#include "graph/infer/dims.h"

#include <string_view>

namespace onward {
namespace {

struct FillRule {
  std::string_view domain;
  std::string_view op;
  void (*fill)(const Graph& graph, const Node& node, const KnownElements& known,
               std::vector<Type>& types);
};

void LikeFirstInput(const Graph& graph, const Node& node, const KnownElements&,
                    std::vector<Type>& types) {
  types[0] = graph.type(node.inputs[0]);
}

void FloatLikeFirstInput(const Graph& graph, const Node& node, const KnownElements&,
                         std::vector<Type>& types) {
  types[0] = graph.type(node.inputs[0]);
  types[0].dtype = DType::kFloat32;
}

constexpr FillRule kRules[] = {
    {"", "GroupNormalization", LikeFirstInput},
    {"", "MeanVarianceNormalization", LikeFirstInput},
    {"ai.onnx.ml", "Imputer", LikeFirstInput},
    {"ai.onnx.ml", "Normalizer", FloatLikeFirstInput},
    {"ai.onnx.ml", "Scaler", FloatLikeFirstInput},
};

}  // namespace

void FillTypes(const Graph& graph, NodeId id, const KnownElements& known,
               std::vector<Type>& types) {
  const Node& node = graph.node(id);
  for (const FillRule& rule : kRules) {
    if (rule.op == node.op_type && rule.domain == node.domain) {
      rule.fill(graph, node, known, types);
    }
  }
}

}  // namespace onward
