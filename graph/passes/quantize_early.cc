// QuantizeLinear moves before what moves or chooses elements of dequantized values: that then
// computes with 8-bit integers. The results are the same, as rounding keeps the order of elements.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "graph/passes/dequantized.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

constexpr int kMostSteps = 16;

// All of their float inputs are data, and they add no element of their own.
constexpr std::string_view kMoves[] = {"Concat",  "DepthToSpace",   "Expand",   "Flatten",
                                       "Gather",  "GatherElements", "GatherND", "MaxPool",
                                       "Reshape", "Slice",          "Squeeze",  "SpaceToDepth",
                                       "Tile",    "Transpose",      "Unsqueeze"};

bool IsData(const Graph& graph, ValueId input) {
  return input.valid() && graph.type(input).dtype == DType::kFloat32;
}

// The op that makes `value`, if it is such an op, which nothing else reads.
const Node* MoveOf(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid() || !ReadOnce(graph, value)) return nullptr;
  const Node& node = graph.node(maker);
  const bool moves = std::any_of(std::begin(kMoves), std::end(kMoves),
                                 [&](std::string_view op) { return node.Is(op); });
  return moves && node.outputs.size() == 1 ? &node : nullptr;
}

// Returns whether the value is dequantized, or made of dequantized values by such ops.
bool IsMoved(const Graph& graph, ValueId value, int steps = kMostSteps) {
  if (PerTensor(graph, value)) return true;
  const Node* move = steps > 0 ? MoveOf(graph, value) : nullptr;
  return move != nullptr && std::all_of(move->inputs.begin(), move->inputs.end(), [&](ValueId x) {
           return !IsData(graph, x) || IsMoved(graph, x, steps - 1);
         });
}

// Returns whether both are one number, the same.
bool AreEqual(const Graph& graph, ValueId a, ValueId b) {
  if (a == b) return true;
  if (!a.valid() || !b.valid()) return false;
  const std::optional<double> x = ScalarValue(graph, a), y = ScalarValue(graph, b);
  return x && y && *x == *y;
}

// QuantizeLinear(x) by the attributes and numbers of `quantize`; what was quantized by the same
// ones is taken as it was.
ValueId Quantize(const Graph& graph, Patch& patch, const Node& quantize, ValueId x) {
  const std::optional<Quantized> source = PerTensor(graph, x);
  if (source && graph.type(source->x).dtype == graph.type(quantize.outputs[0]).dtype &&
      AreEqual(graph, source->scale, quantize.inputs[1]) &&
      AreEqual(graph, source->zero, InputOf(quantize, 2))) {
    return source->x;
  }
  std::vector<ValueId> inputs = quantize.inputs;
  inputs[0] = x;
  return patch.AddNode("QuantizeLinear", std::move(inputs), quantize.attributes);
}

std::optional<Patch> Early(const Graph& graph, NodeId root) {
  const Node& quantize = graph.node(root);
  if (!IsByte(graph.type(quantize.outputs[0]).dtype) || !IsOneFloat(graph, quantize.inputs[1]))
    return std::nullopt;
  const Node* move = MoveOf(graph, quantize.inputs[0]);
  if (move == nullptr || !IsMoved(graph, quantize.inputs[0])) return std::nullopt;
  Patch patch(graph);
  std::vector<ValueId> inputs = move->inputs;
  for (ValueId& input : inputs)
    if (IsData(graph, input)) input = Quantize(graph, patch, quantize, input);
  patch.Replace(quantize.outputs[0],
                patch.AddNode(move->op_type, std::move(inputs), move->attributes));
  return patch;
}

constexpr Rule kRules[] = {{"quantize_early", "QuantizeLinear", Early}};

}  // namespace

absl::StatusOr<int> QuantizeEarly(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
