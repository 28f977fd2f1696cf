// Functions of one element between DequantizeLinear and QuantizeLinear become tables of 256
// results, which fold_constants computes; sums and products of such functions of one value, too.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/row_rules.h"
#include "graph/passes/dequantized.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

constexpr size_t kMostSteps = 16;

// A constant of one element that changes no shape, or one that is dequantized.
bool IsFixedScalar(const Graph& graph, ValueId value) {
  const Node* linear = MadeBy(graph, value, "DequantizeLinear");
  if (linear != nullptr) {
    return std::all_of(linear->inputs.begin(), linear->inputs.end(), [&](ValueId input) {
      return !input.valid() || IsFixedScalar(graph, input);
    });
  }
  const Tensor* constant = FixedConstant(graph, value);
  return constant != nullptr && constant->num_elements() == 1 && constant->rank() <= 1;
}

// Returns the position of the only input that is not such a scalar, of an op of single elements;
// -1 where there is none.
int OnlyOperand(const Graph& graph, const Node& node) {
  const OpFacts* facts = FindFacts(node.op_type, node.domain);
  if (facts == nullptr || facts->rows != ElementwiseRows || facts->random ||
      node.outputs.size() != 1) {
    return -1;
  }
  int operand = -1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid() || IsFixedScalar(graph, node.inputs[i])) continue;
    if (operand >= 0) return -1;
    operand = static_cast<int>(i);
  }
  return operand;
}

bool IsFixed(const Graph& graph, const Quantized& source) {
  return FixedConstant(graph, source.scale) != nullptr &&
         (!source.zero.valid() || FixedConstant(graph, source.zero) != nullptr);
}

// All numbers of the dtype, in their order.
ValueId AddNumbers(Patch& patch, DType dtype) {
  Tensor numbers(dtype, {256});
  auto* bytes = static_cast<uint8_t*>(numbers.raw_mutable_data());
  for (int i = 0; i < 256; ++i)
    bytes[i] = static_cast<uint8_t>(dtype == DType::kInt8 ? i - 128 : i);
  return patch.AddConstant("", std::move(numbers));
}

ValueId AddMap(Patch& patch, ValueId x, ValueId table) {
  return patch.AddNode("MapBytes", {x, table}, {}, kOnwardDomain);
}

std::optional<Patch> Table(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Quantized y = {node.outputs[0], InputOf(node, 1), InputOf(node, 2)};
  if (!IsByte(graph.type(y.x).dtype) || !IsOneFloat(graph, y.scale) || !IsFixed(graph, y))
    return std::nullopt;
  std::vector<std::pair<const Node*, int>> steps;  // backwards, with their operands
  ValueId value = node.inputs[0];
  std::optional<Quantized> x = PerTensor(graph, value);
  while (!x && steps.size() < kMostSteps) {
    const NodeId maker = Maker(graph, value);
    if (!maker.valid()) return std::nullopt;
    const Node& step = graph.node(maker);
    const int operand = OnlyOperand(graph, step);
    if (operand < 0 || !SameShape(graph.type(value), graph.type(InputOf(step, operand))))
      return std::nullopt;
    steps.emplace_back(&step, operand);
    value = InputOf(step, operand);
    x = PerTensor(graph, value);
  }
  if (!x || !IsFixed(graph, *x) || FixedConstant(graph, x->x) != nullptr) return std::nullopt;
  Patch patch(graph);
  ValueId table = patch.AddNode("DequantizeLinear",
                                {AddNumbers(patch, graph.type(x->x).dtype), x->scale, x->zero});
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    std::vector<ValueId> inputs = step->first->inputs;
    inputs[static_cast<size_t>(step->second)] = table;
    table = patch.AddNode(step->first->op_type, std::move(inputs), step->first->attributes,
                          step->first->domain);
  }
  table = patch.AddNode("QuantizeLinear", {table, y.scale, y.zero}, node.attributes);
  patch.Replace(node.outputs[0], AddMap(patch, x->x, table));
  return patch;
}

// x and the table of MapBytes(x, table); x alone of another value.
struct Mapped {
  ValueId x, table;
};
Mapped MappedOf(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid()) return {value, {}};
  const Node& node = graph.node(maker);
  if (!node.Is("MapBytes", kOnwardDomain)) return {value, {}};
  return {node.inputs[0], node.inputs[1]};
}

std::optional<Patch> PairOfTables(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Mapped a = MappedOf(graph, node.inputs[0]), b = MappedOf(graph, node.inputs[3]);
  if (a.x != b.x || (!a.table.valid() && !b.table.valid())) return std::nullopt;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i != 0 && i != 3 && node.inputs[i].valid() &&
        FixedConstant(graph, node.inputs[i]) == nullptr) {
      return std::nullopt;
    }
  }
  Patch patch(graph);
  const ValueId numbers =
      a.table.valid() && b.table.valid() ? ValueId() : AddNumbers(patch, graph.type(a.x).dtype);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = a.table.valid() ? a.table : numbers;
  inputs[3] = b.table.valid() ? b.table : numbers;
  const ValueId table =
      patch.AddNode(node.op_type, std::move(inputs), node.attributes, kMicrosoftDomain);
  patch.Replace(node.outputs[0], AddMap(patch, a.x, table));
  return patch;
}

std::optional<Patch> TableOfTable(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Mapped inner = MappedOf(graph, node.inputs[0]);
  if (!inner.table.valid()) return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                AddMap(patch, inner.x, AddMap(patch, inner.table, node.inputs[1])));
  return patch;
}

constexpr Rule kRules[] = {
    {"byte_table", "QuantizeLinear", Table},
    {"byte_table_of_sum", "com.microsoft.QLinearAdd", PairOfTables},
    {"byte_table_of_product", "com.microsoft.QLinearMul", PairOfTables},
    {"byte_table_of_table", "onward.MapBytes", TableOfTable},
};

}  // namespace

absl::StatusOr<int> FuseByteTables(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.excess_precision) return 0;
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
