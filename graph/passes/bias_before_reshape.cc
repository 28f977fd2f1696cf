// A sum with, or a product by, a constant behind a Reshape that splits the last axis moves before
// it: a bias of heads becomes that of the product that made them, and nothing stands between the
// Reshape and the attention that reads the heads.
#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// The known dims into which the Reshape splits the last axis of its input, at least two; empty
// where it does something else.
Dims SplitOf(const Graph& graph, const Node& reshape) {
  const Type &from = graph.type(reshape.inputs[0]), &to = graph.type(reshape.outputs[0]);
  if (!from.shape || !to.shape || from.shape->empty()) return {};
  const size_t kept = from.shape->size() - 1;
  if (to.shape->size() < kept + 2) return {};
  for (size_t i = 0; i < kept; ++i)
    if (!(*from.shape)[i].SameAs((*to.shape)[i])) return {};
  Dims split;
  for (size_t i = kept; i < to.shape->size(); ++i) {
    if (!(*to.shape)[i].known()) return {};
    split.push_back((*to.shape)[i].value());
  }
  return from.shape->back() == Dim(NumElements(split)) ? split : Dims();
}

// The constant as it is before the Reshape; nothing where it is not one element, nor one for each
// element of the axis that is split.
std::optional<Tensor> BeforeSplit(const Tensor& constant, const Dims& split, size_t rank) {
  const DimsView dims = constant.dims();
  if (dims.size() > rank) return std::nullopt;
  Dims flat;
  if (constant.num_elements() != 1) {
    const size_t ones = dims.size() - std::min(dims.size(), split.size());
    const bool fits = dims.size() >= split.size() && dims.subspan(ones) == DimsView(split) &&
                      NumElements(dims.first(ones)) == 1;
    if (!fits) return std::nullopt;
    flat = {NumElements(split)};
  }
  return constant.Reshaped(flat);
}

std::optional<Patch> Move(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t side = 0; side < 2; ++side) {
    const Node* reshape = MadeBy(graph, node.inputs[side], "Reshape");
    const Tensor* constant = FixedConstant(graph, node.inputs[1 - side]);
    if (reshape == nullptr || constant == nullptr || !ReadOnce(graph, node.inputs[side])) continue;
    const Dims split = SplitOf(graph, *reshape);
    if (split.empty()) continue;
    const auto rank = static_cast<size_t>(RankOf(graph, node.inputs[side]));
    std::optional<Tensor> flat = BeforeSplit(*constant, split, rank);
    if (!flat) continue;
    Patch patch(graph);
    const ValueId before =
        patch.AddNode(node.op_type, {reshape->inputs[0], patch.AddConstant("", *std::move(flat))});
    patch.Replace(node.outputs[0],
                  patch.AddNode("Reshape", {before, reshape->inputs[1]}, reshape->attributes));
    return patch;
  }
  return std::nullopt;
}

constexpr Rule kRules[] = {
    {"bias_before_reshape", "Add", Move},
    {"bias_before_reshape", "Mul", Move},
};

}  // namespace

absl::StatusOr<int> BiasBeforeReshape(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
