// A sum and the normalization of it become onward.AddLayerNormalization or AddRMSNormalization.
#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

template <bool kNarrow>
bool IsTaken(DType dtype) {
  return dtype == DType::kFloat32 || (kNarrow && IsNarrow(dtype));
}

template <bool kNarrow>  // floats of 16 bits, too
std::optional<Patch> AddNormalization(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId sum = node.inputs[0];
  const Node* add = MadeBy(graph, sum, "Add");
  if (add == nullptr || node.outputs.size() != 1 || !IsTaken<kNarrow>(graph.type(sum).dtype) ||
      !SameShape(graph.type(add->inputs[0]), graph.type(add->inputs[1]))) {
    return std::nullopt;
  }
  Node fused;
  fused.op_type = absl::StrCat("Add", node.op_type);
  fused.domain = kOnwardDomain;
  fused.inputs = add->inputs;
  fused.attributes = node.attributes;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    // A parameter that depends on the sum would make a cycle.
    if (node.inputs[i].valid() && FixedConstant(graph, node.inputs[i]) == nullptr) {
      return std::nullopt;
    }
    fused.inputs.push_back(node.inputs[i]);
  }
  const bool sum_is_read = !ReadOnce(graph, sum);
  Patch patch(graph);
  const std::vector<ValueId> outputs =
      patch.AddNodeWithOutputs(std::move(fused), sum_is_read ? 2 : 1);
  patch.Replace(node.outputs[0], outputs[0]);
  if (sum_is_read) patch.Replace(sum, outputs[1]);
  return patch;
}

template <bool kNarrow>
constexpr Rule kRules[] = {
    {"fuse_add_normalization", "LayerNormalization", AddNormalization<kNarrow>},
    {"fuse_add_normalization", "RMSNormalization", AddNormalization<kNarrow>},
};

}  // namespace

absl::StatusOr<int> FuseAddNormalization(Graph& graph, const PassOptions& options, int& budget) {
  return options.fuses_narrow_floats ? ApplyRules(graph, kRules<true>, budget)
                                     : ApplyRules(graph, kRules<false>, budget);
}

}  // namespace onward
