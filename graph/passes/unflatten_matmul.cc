// Products whose batch axes were joined for them, as exporters write Einsums, get their axes back:
// then attention is found in them, and no shape is computed for the joined axes.
#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/rewrite/add_integers.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

const SymbolicDims* ShapeOf(const Graph& graph, ValueId value) {
  const Type& type = graph.type(value);
  return type.is_tensor() && type.shape ? &*type.shape : nullptr;
}

// The axes of one element without which `dims` are `wanted`; nullopt where they are others.
std::optional<std::vector<int64_t>> OnesBeside(const SymbolicDims& dims,
                                               const SymbolicDims& wanted) {
  std::vector<int64_t> ones;
  size_t next = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (next < wanted.size() && dims[i].SameAs(wanted[next])) {
      ++next;
    } else if (dims[i] == Dim(1)) {
      ones.push_back(static_cast<int64_t>(i));
    } else {
      return std::nullopt;
    }
  }
  return next == wanted.size() ? std::optional(ones) : std::nullopt;
}

// An operand of a product with its batch axes joined.
struct Joined {
  ValueId x;                  // before
  std::vector<int64_t> ones;  // its axes that the product does not have
  bool swapped = false;       // the last two axes, behind
};

// `outer`: the batch axes.
std::optional<Joined> ReadJoined(const Graph& graph, ValueId operand, const SymbolicDims& outer) {
  Joined joined;
  if (const Node* transpose = MadeBy(graph, operand, "Transpose")) {
    if (transpose->attributes.Ints("perm") != std::vector<int64_t>{0, 2, 1}) return std::nullopt;
    joined.swapped = true;
    operand = transpose->inputs[0];
  }
  const Node* reshape = MadeBy(graph, operand, "Reshape");
  if (reshape == nullptr) return std::nullopt;
  joined.x = reshape->inputs[0];
  const SymbolicDims *from = ShapeOf(graph, joined.x), *to = ShapeOf(graph, operand);
  if (from == nullptr || to == nullptr || to->size() != 3) return std::nullopt;
  SymbolicDims wanted = outer;
  wanted.insert(wanted.end(), to->begin() + 1, to->end());
  const auto ones = OnesBeside(*from, wanted);
  if (!ones) return std::nullopt;
  joined.ones = *ones;
  return joined;
}

ValueId AddOperand(Patch& patch, const Joined& joined, size_t rank) {
  ValueId value = joined.x;
  if (!joined.ones.empty())
    value = patch.AddNode("Squeeze", {value, AddIntegers(patch, joined.ones)});
  if (!joined.swapped) return value;
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  std::swap(perm[rank - 2], perm[rank - 1]);
  return patch.AddNode("Transpose", {value}, {{"perm", perm}});
}

// Root: the Reshape that takes the batch axes of a product apart.
std::optional<Patch> Product(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* product = MadeBy(graph, node.inputs[0], "MatMul");
  const SymbolicDims* result = ShapeOf(graph, node.outputs[0]);
  if (product == nullptr || result == nullptr || RankOf(graph, node.inputs[0]) != 3)
    return std::nullopt;
  const SymbolicDims& flat = *ShapeOf(graph, node.inputs[0]);
  // The result is the batch axes, rows and columns, and perhaps ones behind them.
  size_t rank = result->size();
  while (rank > 4 && (*result)[rank - 1] == Dim(1)) --rank;
  if (rank < 4 || !(*result)[rank - 2].SameAs(flat[1]) || !(*result)[rank - 1].SameAs(flat[2]))
    return std::nullopt;
  const SymbolicDims outer(result->begin(), result->begin() + static_cast<ptrdiff_t>(rank) - 2);
  const auto left = ReadJoined(graph, product->inputs[0], outer);
  const auto right = ReadJoined(graph, product->inputs[1], outer);
  if (!left || !right) return std::nullopt;
  Patch patch(graph);
  ValueId value =
      patch.AddNode("MatMul", {AddOperand(patch, *left, rank), AddOperand(patch, *right, rank)});
  std::vector<int64_t> ones;
  for (size_t i = rank; i < result->size(); ++i) ones.push_back(static_cast<int64_t>(i));
  if (!ones.empty()) value = patch.AddNode("Unsqueeze", {value, AddIntegers(patch, ones)});
  patch.Replace(node.outputs[0], value);
  return patch;
}

constexpr Rule kRules[] = {
    {"unflatten_matmul", "Reshape", Product},
};

}  // namespace

absl::StatusOr<int> UnflattenMatMul(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
