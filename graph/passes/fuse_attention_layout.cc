// Attention on heads, where only Reshape and Transpose stand around it, becomes Attention on rows
// ([batch, positions, heads * size]); heads of keys and values that are repeated for groups of
// queries are read once.
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

Dim DimOf(const Graph& graph, ValueId id, size_t axis) { return (*graph.type(id).shape)[axis]; }

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

// x of Reshape(Expand(Unsqueeze(x, 2), ...)) that repeats each head of x for a group of queries.
ValueId BeforeRepeat(const Graph& graph, ValueId value) {
  const Node* reshape = MadeBy(graph, value, "Reshape");
  const Node* expand = reshape == nullptr ? nullptr : MadeBy(graph, reshape->inputs[0], "Expand");
  const Node* unsqueeze =
      expand == nullptr ? nullptr : MadeBy(graph, expand->inputs[0], "Unsqueeze");
  if (unsqueeze == nullptr) return {};
  const ValueId x = unsqueeze->inputs[0], wide = expand->outputs[0];
  const auto axes = IntElements(graph, unsqueeze->inputs[1]);
  if (!axes || *axes != std::vector<int64_t>{2} || RankOf(graph, x) != 4 ||
      RankOf(graph, wide) != 5 || RankOf(graph, value) != 4) {
    return {};
  }
  const Dim heads = DimOf(graph, wide, 1), group = DimOf(graph, wide, 2);
  const Dim joined = DimOf(graph, value, 1);
  const bool fits = DimOf(graph, x, 0).SameAs(DimOf(graph, wide, 0)) &&
                    DimOf(graph, x, 1).SameAs(heads) && heads.known() && group.known() &&
                    joined.known() && joined.value() == heads.value() * group.value() &&
                    DimOf(graph, x, 2).SameAs(DimOf(graph, wide, 3)) &&
                    DimOf(graph, x, 3).SameAs(DimOf(graph, wide, 4)) &&
                    DimOf(graph, x, 0).SameAs(DimOf(graph, value, 0)) &&
                    DimOf(graph, x, 2).SameAs(DimOf(graph, value, 2)) &&
                    DimOf(graph, x, 3).SameAs(DimOf(graph, value, 3));
  return fits ? x : ValueId();
}

std::optional<Patch> OnGroups(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (NumInputs(node) < 3 || NumInputs(node) > 4 || node.outputs.size() != 1 ||
      RankOf(graph, node.inputs[0]) != 4) {
    return std::nullopt;
  }
  const ValueId k = BeforeRepeat(graph, node.inputs[1]), v = BeforeRepeat(graph, node.inputs[2]);
  if (!k.valid() || !v.valid() || !DimOf(graph, k, 1).SameAs(DimOf(graph, v, 1)) ||
      !DimOf(graph, node.inputs[0], 1).SameAs(DimOf(graph, node.inputs[1], 1))) {
    return std::nullopt;
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = k;
  inputs[2] = v;
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("Attention", std::move(inputs), node.attributes));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_attention_rows", "Reshape", OnRows},
    {"fuse_attention_groups", "Attention", OnGroups},
};

}  // namespace

absl::StatusOr<int> FuseAttentionLayout(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
