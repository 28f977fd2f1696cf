// Conv and the sum and activation after it become onward.FusedConv.
#include "graph/ops/onward_schemas.h"
#include "graph/passes/activation.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// The Conv or FusedConv that makes `value` and that nothing else reads and no activation closes.
// kNarrow: of any float, else of float32 alone.
template <bool kNarrow>
const Node* OpenConv(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  const DType dtype = graph.type(value).dtype;
  const bool fits = dtype == DType::kFloat32 || (kNarrow && IsFloating(dtype));
  if (!maker.valid() || !ReadOnce(graph, value) || !fits) return nullptr;
  const Node& node = graph.node(maker);
  if (node.Is("Conv")) {
    // The fused kernels have one or two spatial axes.
    const int rank = RankOf(graph, node.inputs[1]);
    return rank == 3 || rank == 4 ? &node : nullptr;
  }
  const bool fused = node.Is("FusedConv", kOnwardDomain);
  return fused && HasNoActivation(node) ? &node : nullptr;
}

template <bool kNarrow>
std::optional<Patch> Activation(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<ActivationCall> call = ReadActivation(graph, node);
  const Node* conv = call ? OpenConv<kNarrow>(graph, call->input) : nullptr;
  if (conv == nullptr) return std::nullopt;
  Attributes attributes = conv->attributes;
  SetActivation(*call, attributes);
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode("FusedConv", conv->inputs, std::move(attributes), kOnwardDomain));
  return patch;
}

template <bool kNarrow>
std::optional<Patch> Residual(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (node.inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId residual = node.inputs[1 - i];
    const Node* conv = OpenConv<kNarrow>(graph, node.inputs[i]);
    if (conv == nullptr || residual == node.inputs[i] || InputOf(*conv, 3).valid() ||
        !SameShape(graph.type(residual), graph.type(node.inputs[i]))) {
      continue;
    }
    Patch patch(graph);
    patch.Replace(
        node.outputs[0],
        patch.AddNode("FusedConv", {conv->inputs[0], conv->inputs[1], InputOf(*conv, 2), residual},
                      conv->attributes, kOnwardDomain));
    return patch;
  }
  return std::nullopt;
}

template <bool kNarrow>
constexpr Rule kRules[] = {
    {"fuse_conv_sum", "Add", Residual<kNarrow>},
    {"fuse_conv_sum", "Sum", Residual<kNarrow>},
    {"fuse_conv_activation", "", Activation<kNarrow>},
};

}  // namespace

absl::StatusOr<int> FuseConv(Graph& graph, const PassOptions& options, int& budget) {
  return options.fuses_narrow_floats ? ApplyRules(graph, kRules<true>, budget)
                                     : ApplyRules(graph, kRules<false>, budget);
}

}  // namespace onward
