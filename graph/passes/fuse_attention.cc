// Scaled dot-product attention from its parts becomes the standard's Attention: first on heads
// ([batch, heads, positions, size]), then on rows ([batch, positions, heads * size]) where only
// Reshape and Transpose stand between. A row whose keys are all masked by -inf gives zeros instead
// of NaN, so that this belongs to devices.
#include <algorithm>
#include <cmath>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// value = factor * inner, looking through products and quotients by constants of one element.
struct Factored {
  ValueId inner;
  double factor = 1;
};
Factored WithoutFactors(const Graph& graph, ValueId value) {
  Factored result{value};
  while (ReadOnce(graph, result.inner)) {
    const Node* node = MadeBy(graph, result.inner, "Mul");
    const bool division = node == nullptr;
    if (division) node = MadeBy(graph, result.inner, "Div");
    const auto split = node == nullptr ? std::nullopt : SplitScalar(graph, *node);
    if (!split || (division && (split->other != node->inputs[0] || split->scalar == 0))) break;
    result.factor *= division ? 1 / split->scalar : split->scalar;
    result.inner = split->other;
  }
  return result;
}

Dim DimOf(const Graph& graph, ValueId id, size_t axis) { return (*graph.type(id).shape)[axis]; }

// Whether every dim of the mask is 1 or that of the scores, the last one certainly the scores'.
bool MaskFits(const Graph& graph, ValueId mask, ValueId scores) {
  const int rank = RankOf(graph, mask);
  if (rank < 2 || rank > 4 || graph.type(mask).dtype != DType::kFloat32) return false;
  for (int i = 0; i < rank; ++i) {
    const Dim dim = DimOf(graph, mask, static_cast<size_t>(i));
    const Dim of_scores = DimOf(graph, scores, static_cast<size_t>(4 - rank + i));
    if (!dim.SameAs(of_scores) && (i == rank - 1 || !(dim == Dim(1)))) return false;
  }
  return true;
}

// The parts of softmax(scores + mask), the mask perhaps still to be made of a condition.
struct Masked {
  ValueId scores;
  ValueId mask;
  ValueId condition;  // scores where it is true, `filler` elsewhere
  ValueId filler;
};
std::optional<Masked> ReadMasked(const Graph& graph, ValueId value) {
  if (RankOf(graph, value) != 4 || !ReadOnce(graph, value)) return std::nullopt;
  if (const Node* sum = MadeBy(graph, value, "Add")) {
    for (size_t i = 0; i < 2; ++i) {
      const ValueId scores = sum->inputs[i], mask = sum->inputs[1 - i];
      const ValueId product = WithoutFactors(graph, scores).inner;
      if (RankOf(graph, scores) == 4 && MadeBy(graph, product, "MatMul") != nullptr &&
          MaskFits(graph, mask, scores)) {
        return Masked{scores, mask, {}, {}};
      }
    }
    return std::nullopt;
  }
  const Node* where = MadeBy(graph, value, "Where");
  if (where == nullptr) return Masked{value, {}, {}, {}};
  const auto filler = ScalarValue(graph, where->inputs[2]);
  // So low that the exponential is 0 for any score that a model has.
  if (!filler || !(*filler <= -1e4) || RankOf(graph, where->inputs[2]) != 0 ||
      RankOf(graph, where->inputs[1]) != 4) {
    return std::nullopt;
  }
  return Masked{where->inputs[1], {}, where->inputs[0], where->inputs[2]};
}

bool ConditionFits(const Graph& graph, const Masked& masked) {
  const int rank = RankOf(graph, masked.condition);
  if (rank < 2 || rank > 4) return false;
  for (int i = 0; i < rank; ++i) {
    const Dim dim = DimOf(graph, masked.condition, static_cast<size_t>(i));
    const Dim of_scores = DimOf(graph, masked.scores, static_cast<size_t>(4 - rank + i));
    if (!dim.SameAs(of_scores) && (i == rank - 1 || !(dim == Dim(1)))) return false;
  }
  return true;
}

// Whether queries, keys and values agree in batch and heads, and keys and values in positions.
bool HeadsAgree(const Graph& graph, ValueId q, ValueId k, ValueId v) {
  if (RankOf(graph, q) != 4 || RankOf(graph, k) != 4 || RankOf(graph, v) != 4) return false;
  for (size_t axis = 0; axis < 2; ++axis) {
    const Dim dim = DimOf(graph, q, axis);
    if (!dim.SameAs(DimOf(graph, k, axis)) || !dim.SameAs(DimOf(graph, v, axis))) return false;
  }
  return DimOf(graph, k, 2).SameAs(DimOf(graph, v, 2)) &&
         DimOf(graph, q, 3).SameAs(DimOf(graph, k, 3));
}

std::optional<Patch> OnHeads(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* softmax = MadeBy(graph, node.inputs[0], "Softmax");
  if (softmax == nullptr || !ReadOnce(graph, node.inputs[0]) ||
      graph.type(node.outputs[0]).dtype != DType::kFloat32) {
    return std::nullopt;
  }
  const int64_t axis = softmax->attributes.Int("axis", -1);
  const auto masked = ReadMasked(graph, softmax->inputs[0]);
  if (!masked || (axis != -1 && axis != 3)) return std::nullopt;
  if (masked->condition.valid() && !ConditionFits(graph, *masked)) return std::nullopt;
  const Factored scores = WithoutFactors(graph, masked->scores);
  const Node* product = MadeBy(graph, scores.inner, "MatMul");
  if (product == nullptr || !ReadOnce(graph, scores.inner)) return std::nullopt;
  const Factored q = WithoutFactors(graph, product->inputs[0]);
  const Factored keys = WithoutFactors(graph, product->inputs[1]);
  const Node* transpose = MadeBy(graph, keys.inner, "Transpose");
  if (transpose == nullptr || RankOf(graph, keys.inner) != 4) return std::nullopt;
  std::vector<int64_t> perm = transpose->attributes.Ints("perm");
  if (perm.size() != 4) return std::nullopt;
  std::swap(perm[2], perm[3]);
  Patch patch(graph);
  const ValueId v = node.inputs[1];
  Factored k = WithoutFactors(graph, transpose->inputs[0]);
  ValueId heads = k.inner;
  if (perm != std::vector<int64_t>{0, 1, 2, 3}) {
    heads = patch.AddNode("Transpose", {k.inner}, {{"perm", perm}});
    // The new value has no type yet: what it will be is the old one with its last dims swapped.
    const SymbolicDims& old = *graph.type(keys.inner).shape;
    if (RankOf(graph, q.inner) != 4 || RankOf(graph, v) != 4) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      if (!old[i].SameAs(DimOf(graph, q.inner, i)) || !old[i].SameAs(DimOf(graph, v, i))) {
        return std::nullopt;
      }
    }
    if (!old[2].SameAs(DimOf(graph, q.inner, 3)) || !old[3].SameAs(DimOf(graph, v, 2))) {
      return std::nullopt;
    }
  } else if (!HeadsAgree(graph, q.inner, k.inner, v)) {
    return std::nullopt;
  }
  std::vector<ValueId> inputs = {q.inner, heads, v};
  if (masked->condition.valid()) {
    const ValueId zero = patch.AddConstant("", Tensor::Scalar(0.0f));
    inputs.push_back(patch.AddNode("Where", {masked->condition, zero, masked->filler}));
  } else if (masked->mask.valid()) {
    inputs.push_back(masked->mask);
  }
  const auto scale = static_cast<float>(scores.factor * q.factor * keys.factor * k.factor);
  if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  patch.Replace(node.outputs[0], patch.AddNode("Attention", std::move(inputs), {{"scale", scale}}));
  return patch;
}

// x of Transpose(Reshape(x, [batch, positions, heads, size]), [0, 2, 1, 3]).
struct Rows {
  ValueId x;
  int64_t heads = 0;
};
std::optional<Rows> ReadRows(const Graph& graph, ValueId value) {
  const Node* transpose = MadeBy(graph, value, "Transpose");
  if (transpose == nullptr ||
      transpose->attributes.Ints("perm") != std::vector<int64_t>{0, 2, 1, 3}) {
    return std::nullopt;
  }
  const Node* reshape = MadeBy(graph, transpose->inputs[0], "Reshape");
  if (reshape == nullptr || RankOf(graph, reshape->inputs[0]) != 3 ||
      RankOf(graph, reshape->outputs[0]) != 4) {
    return std::nullopt;
  }
  const ValueId x = reshape->inputs[0], split = reshape->outputs[0];
  const Dim heads = DimOf(graph, split, 2);
  if (!DimOf(graph, x, 0).SameAs(DimOf(graph, split, 0)) ||
      !DimOf(graph, x, 1).SameAs(DimOf(graph, split, 1)) || !heads.known() ||
      !DimOf(graph, split, 3).known()) {
    return std::nullopt;
  }
  return Rows{x, heads.value()};
}

// Root: the Reshape that joins the heads of the result.
std::optional<Patch> OnRows(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* transpose = MadeBy(graph, node.inputs[0], "Transpose");
  if (transpose == nullptr || !ReadOnce(graph, node.inputs[0]) ||
      transpose->attributes.Ints("perm") != std::vector<int64_t>{0, 2, 1, 3}) {
    return std::nullopt;
  }
  const ValueId result = transpose->inputs[0];
  const Node* attention = MadeBy(graph, result, "Attention");
  if (attention == nullptr || !ReadOnce(graph, result) || attention->outputs.size() != 1 ||
      NumInputs(*attention) > 4 || RankOf(graph, attention->inputs[0]) != 4 ||
      RankOf(graph, node.outputs[0]) != 3 ||
      !DimOf(graph, node.outputs[0], 0).SameAs(DimOf(graph, node.inputs[0], 0)) ||
      !DimOf(graph, node.outputs[0], 1).SameAs(DimOf(graph, node.inputs[0], 1))) {
    return std::nullopt;
  }
  std::optional<Rows> rows[3];
  for (size_t i = 0; i < 3; ++i) {
    rows[i] = ReadRows(graph, attention->inputs[i]);
    if (!rows[i]) return std::nullopt;
  }
  if (rows[1]->heads != rows[2]->heads) return std::nullopt;
  std::vector<ValueId> inputs = attention->inputs;
  for (size_t i = 0; i < 3; ++i) inputs[i] = rows[i]->x;
  Attributes attributes = attention->attributes;
  // The default scale is of the size of one head, which stays.
  attributes.Set("q_num_heads", rows[0]->heads);
  attributes.Set("kv_num_heads", rows[1]->heads);
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode("Attention", std::move(inputs), std::move(attributes)));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_attention", "MatMul", OnHeads},
    {"fuse_attention_rows", "Reshape", OnRows},
};

}  // namespace

absl::StatusOr<int> FuseAttention(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
