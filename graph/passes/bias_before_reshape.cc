// A sum with, or a product by, a constant behind a Reshape moves before it, where each row of the
// last axis before has the constant's elements: a bias of heads becomes that of the product that
// made them, and nothing stands between the Reshape and the attention that reads the heads.
#include <algorithm>

#include "graph/passes/channel_affine.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// The known dims at the end of `to` whose product is the last dim of `from`; empty: there are none.
Dims SplitOf(const Type& from, const Type& to) {
  if (!from.shape || !to.shape || from.shape->empty() || !from.shape->back().known()) return {};
  const int64_t whole = from.shape->back().value();
  int64_t count = 1;
  for (size_t n = 1; n <= to.shape->size(); ++n) {
    const Dim& dim = (*to.shape)[to.shape->size() - n];
    if (!dim.known() || dim.value() == 0) return {};
    count *= dim.value();
    if (count > whole) return {};
    if (count < whole || whole == 1) continue;
    Dims split;
    for (size_t i = to.shape->size() - n; i < to.shape->size(); ++i)
      split.push_back((*to.shape)[i].value());
    return split;
  }
  return {};
}

// A value before nodes that change its shape alone.
struct Reshaped {
  ValueId x;
  std::vector<const Node*> nodes;  // the last one first
  Dims split;
};

bool IsProduct(const Graph& graph, ValueId value) {
  return MadeBy(graph, value, "MatMul") != nullptr || MadeBy(graph, value, "Gemm") != nullptr;
}

std::optional<Reshaped> ReadReshaped(const Graph& graph, ValueId value) {
  constexpr size_t kMostNodes = 2;
  Reshaped reshaped;
  const Type& type = graph.type(value);
  for (ValueId at = value; reshaped.nodes.size() < kMostNodes && ReadOnce(graph, at);) {
    const Node* node = MadeBy(graph, at, "Reshape");
    if (node == nullptr) node = MadeBy(graph, at, "Squeeze");
    if (node == nullptr) break;
    reshaped.nodes.push_back(node);
    at = reshaped.x = node->inputs[0];
    reshaped.split = SplitOf(graph.type(at), type);
    const bool moves = reshaped.split.size() > 1 || IsProduct(graph, at);
    if (moves && !reshaped.split.empty()) return reshaped;
  }
  return std::nullopt;
}

// The constant as it is before the Reshape; nothing where it is neither one element, nor one for
// each element of the last axis.
std::optional<Tensor> BeforeReshape(const Tensor& constant, const Dims& split, size_t rank) {
  const DimsView dims = constant.dims();
  if (dims.size() > rank) return std::nullopt;
  if (constant.num_elements() == 1) return constant.Reshaped({});
  if (dims.size() < split.size()) return std::nullopt;
  const size_t ones = dims.size() - split.size();
  if (dims.subspan(ones) != DimsView(split) || NumElements(dims.first(ones)) != 1)
    return std::nullopt;
  return constant.Reshaped({NumElements(split)});
}

// The nodes of `reshaped` again, over `value`.
ValueId Repeat(const Reshaped& reshaped, ValueId value, Patch& patch) {
  for (auto each = reshaped.nodes.rbegin(); each != reshaped.nodes.rend(); ++each) {
    std::vector<ValueId> inputs = (*each)->inputs;
    inputs[0] = value;
    value = patch.AddNode((*each)->op_type, std::move(inputs), (*each)->attributes);
  }
  return value;
}

std::optional<Patch> Move(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t side = 0; side < 2; ++side) {
    const Tensor* constant = FixedConstant(graph, node.inputs[1 - side]);
    if (constant == nullptr) continue;
    const auto reshaped = ReadReshaped(graph, node.inputs[side]);
    if (!reshaped) continue;
    const auto rank = static_cast<size_t>(RankOf(graph, node.inputs[side]));
    std::optional<Tensor> before = BeforeReshape(*constant, reshaped->split, rank);
    if (!before) continue;
    Patch patch(graph);
    const ValueId value =
        patch.AddNode(node.op_type, {reshaped->x, patch.AddConstant("", *std::move(before))});
    patch.Replace(node.outputs[0], Repeat(*reshaped, value, patch));
    return patch;
  }
  return std::nullopt;
}

// A BatchNormalization in inference over the rows of a matrix is a product and a sum, which move,
// too: PyTorch flattens the batch and the positions for it (BatchNorm1d of LeViT).
std::optional<Patch> MoveBatchNormalization(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = node.inputs[0];
  if (RankOf(graph, x) != 2) return std::nullopt;
  const auto reshaped = ReadReshaped(graph, x);
  if (!reshaped || reshaped->split.size() != 1) return std::nullopt;
  const auto affine = ReadChannelAffine(graph, node, 2, reshaped->split[0]);
  const DType dtype = graph.type(x).dtype;
  if (!affine || graph.type(node.inputs[1]).dtype != dtype) return std::nullopt;
  Patch patch(graph);
  const auto constant = [&](const std::vector<double>& values) {
    return patch.AddConstant("", FloatTensor(dtype, Dims{reshaped->split[0]}, values));
  };
  const ValueId scaled = patch.AddNode("Mul", {reshaped->x, constant(affine->scale)});
  const ValueId shifted = patch.AddNode("Add", {scaled, constant(affine->shift)});
  patch.Replace(node.outputs[0], Repeat(*reshaped, shifted, patch));
  return patch;
}

constexpr Rule kRules[] = {
    {"bias_before_reshape", "Add", Move},
    {"bias_before_reshape", "Mul", Move},
    {"bias_before_reshape", "BatchNormalization", MoveBatchNormalization},
};

}  // namespace

absl::StatusOr<int> BiasBeforeReshape(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
