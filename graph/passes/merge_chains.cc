// Two nodes of one kind in a row that one node does exactly: Transpose, Reshape, Cast, Squeeze. A
// CastLike becomes the Cast that it is, so that what it reads for its dtype alone does not matter.
#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/rewrite/add_integers.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

std::optional<Patch> Transposes(const Graph& graph, NodeId root) {
  const Node& outer = graph.node(root);
  const Node* inner = MadeBy(graph, outer.inputs[0], "Transpose");
  if (inner == nullptr) return std::nullopt;
  const std::vector<int64_t> first = PermOf(graph, *inner), second = PermOf(graph, outer);
  if (first.empty() || first.size() != second.size()) return std::nullopt;
  std::vector<int64_t> both;
  bool identity = true;
  for (size_t i = 0; i < second.size(); ++i) {
    both.push_back(first[static_cast<size_t>(second[i])]);
    identity &= both[i] == static_cast<int64_t>(i);
  }
  Patch patch(graph);
  patch.Replace(outer.outputs[0],
                identity ? inner->inputs[0]
                         : patch.AddNode("Transpose", {inner->inputs[0]}, {{"perm", both}}));
  return patch;
}

// The input of a node that only changes the shape; invalid otherwise.
ValueId BeforeReshape(const Graph& graph, ValueId value) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) {
    if (const Node* node = MadeBy(graph, value, op)) return node->inputs[0];
  }
  return {};
}

std::optional<Patch> Reshapes(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId before = BeforeReshape(graph, node.inputs[0]);
  if (!before.valid()) return std::nullopt;
  // A 0 copies a dim of the input, which is another one before the first reshape.
  if (node.attributes.Int("allowzero", 0) == 0) {
    const auto target = IntElements(graph, node.inputs[1]);
    if (!target || std::count(target->begin(), target->end(), 0) > 0) return std::nullopt;
  }
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode("Reshape", {before, node.inputs[1]}, node.attributes));
  return patch;
}

bool SameDims(const SymbolicDims& a, size_t a_at, const SymbolicDims& b, size_t b_at) {
  return a[a_at].SameAs(b[b_at]);
}

// Reshape to [-1, n, m], Transpose to [-1, m, n], Reshape back to the leading dims of x.
std::optional<Patch> SwapThroughThreeDims(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* transpose = MadeBy(graph, node.inputs[0], "Transpose");
  if (transpose == nullptr || transpose->attributes.Ints("perm") != std::vector<int64_t>{0, 2, 1}) {
    return std::nullopt;
  }
  const Node* reshape = MadeBy(graph, transpose->inputs[0], "Reshape");
  const int rank = RankOf(graph, node.outputs[0]);
  if (reshape == nullptr || rank < 3 || RankOf(graph, reshape->inputs[0]) != rank) {
    return std::nullopt;
  }
  const SymbolicDims& x = *graph.type(reshape->inputs[0]).shape;
  const SymbolicDims& middle = *graph.type(reshape->outputs[0]).shape;
  const SymbolicDims& y = *graph.type(node.outputs[0]).shape;
  const size_t n = x.size() - 2, m = x.size() - 1;
  bool fits = SameDims(x, n, middle, 1) && SameDims(x, m, middle, 2) && SameDims(y, n, x, m) &&
              SameDims(y, m, x, n);
  std::vector<int64_t> perm;
  for (size_t i = 0; i < n; ++i) {
    fits &= SameDims(x, i, y, i);
    perm.push_back(static_cast<int64_t>(i));
  }
  if (!fits) return std::nullopt;
  perm.push_back(static_cast<int64_t>(m));
  perm.push_back(static_cast<int64_t>(n));
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode("Transpose", {reshape->inputs[0]}, {{"perm", perm}}));
  return patch;
}

// The axes that the node adds or takes away, of `rank`, ascending; empty where they are not known.
std::vector<int64_t> AxesOf(const Graph& graph, const Node& node, int rank) {
  const auto axes = rank < 0 ? std::nullopt : IntElements(graph, InputOf(node, 1));
  if (!axes) return {};
  std::vector<int64_t> positive;
  for (const int64_t axis : *axes) positive.push_back(axis < 0 ? axis + rank : axis);
  std::sort(positive.begin(), positive.end());
  return positive;
}

// Unsqueeze(Squeeze(x, axes), axes) and the reverse.
std::optional<Patch> SqueezePair(const Graph& graph, NodeId root) {
  const Node& outer = graph.node(root);
  const bool squeezes = outer.Is("Squeeze");
  const Node* inner = MadeBy(graph, outer.inputs[0], squeezes ? "Unsqueeze" : "Squeeze");
  if (inner == nullptr) return std::nullopt;
  const int rank = RankOf(graph, squeezes ? outer.inputs[0] : outer.outputs[0]);
  const std::vector<int64_t> axes = AxesOf(graph, outer, rank);
  if (axes.empty() || axes != AxesOf(graph, *inner, rank)) return std::nullopt;
  Patch patch(graph);
  patch.Replace(outer.outputs[0], inner->inputs[0]);
  return patch;
}

// Transpose(Unsqueeze(x)) is Unsqueeze(Transpose(x)).
std::optional<Patch> UnsqueezeLast(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* unsqueeze = MadeBy(graph, node.inputs[0], "Unsqueeze");
  const std::vector<int64_t> perm = node.attributes.Ints("perm");
  if (unsqueeze == nullptr || perm.empty()) return std::nullopt;
  const std::vector<int64_t> axes = AxesOf(graph, *unsqueeze, static_cast<int>(perm.size()));
  if (axes.empty()) return std::nullopt;
  const auto is_one = [&](int64_t axis) {
    return std::binary_search(axes.begin(), axes.end(), axis);
  };
  std::vector<int64_t> inner, ones;
  for (size_t i = 0; i < perm.size(); ++i) {
    if (is_one(perm[i])) {
      ones.push_back(static_cast<int64_t>(i));
    } else {
      inner.push_back(perm[i] -
                      (std::lower_bound(axes.begin(), axes.end(), perm[i]) - axes.begin()));
    }
  }
  Patch patch(graph);
  ValueId value = unsqueeze->inputs[0];
  if (!std::is_sorted(inner.begin(), inner.end()))
    value = patch.AddNode("Transpose", {value}, {{"perm", inner}});
  patch.Replace(node.outputs[0], patch.AddNode("Unsqueeze", {value, AddIntegers(patch, ones)}));
  return patch;
}

// Bits of integer that the type holds exactly, its sign apart; 0 when it is not a number of these.
struct Exactness {
  int digits = 0;
  bool is_signed = false;
  bool floating = false;
};
Exactness ExactnessOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {1, false, false};
    case DType::kUint8:
      return {8, false, false};
    case DType::kInt8:
      return {7, true, false};
    case DType::kUint16:
      return {16, false, false};
    case DType::kInt16:
      return {15, true, false};
    case DType::kUint32:
      return {32, false, false};
    case DType::kInt32:
      return {31, true, false};
    case DType::kUint64:
      return {64, false, false};
    case DType::kInt64:
      return {63, true, false};
    case DType::kFloat16:
      return {11, true, true};
    case DType::kBFloat16:
      return {8, true, true};
    case DType::kFloat32:
      return {24, true, true};
    case DType::kFloat64:
      return {53, true, true};
    default:
      return {};
  }
}

// Returns whether every value of `from` is a value of `to`.
bool Holds(DType to, DType from) {
  if (to == DType::kFloat16 && from == DType::kBFloat16) return false;
  const Exactness a = ExactnessOf(from), b = ExactnessOf(to);
  if (a.digits == 0 || b.digits == 0 || to == DType::kBool) return false;
  if (a.floating && !b.floating) return false;
  return b.digits >= a.digits && (b.is_signed || !a.is_signed);
}

std::optional<Patch> Casts(const Graph& graph, NodeId root) {
  const Node& outer = graph.node(root);
  const Node* inner = MadeBy(graph, outer.inputs[0], "Cast");
  if (inner == nullptr) return std::nullopt;
  const DType first = graph.type(inner->inputs[0]).dtype;
  const DType middle = graph.type(outer.inputs[0]).dtype;
  const DType last = graph.type(outer.outputs[0]).dtype;
  if (last == DType::kString || !Holds(middle, first)) return std::nullopt;
  Patch patch(graph);
  patch.Replace(outer.outputs[0],
                last == first ? inner->inputs[0]
                              : patch.AddNode("Cast", {inner->inputs[0]}, outer.attributes));
  return patch;
}

std::optional<Patch> KnownCast(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Type& like = graph.type(node.inputs[1]);
  if (!like.is_tensor() || like.dtype == DType::kUndefined) return std::nullopt;
  Attributes attributes = node.attributes;
  attributes.Set("to", static_cast<int64_t>(like.dtype));
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("Cast", {node.inputs[0]}, std::move(attributes)));
  return patch;
}

constexpr Rule kRules[] = {
    {"merge_transposes", "Transpose", Transposes},
    {"merge_reshapes", "Reshape", Reshapes},
    {"merge_swap", "Reshape", SwapThroughThreeDims},
    {"cancel_squeeze", "Squeeze", SqueezePair},
    {"unsqueeze_last", "Transpose", UnsqueezeLast},
    {"cancel_unsqueeze", "Unsqueeze", SqueezePair},
    {"merge_casts", "Cast", Casts},
    {"known_cast", "CastLike", KnownCast},
};

}  // namespace

absl::StatusOr<int> MergeChains(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
