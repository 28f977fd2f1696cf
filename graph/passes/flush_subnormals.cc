// Subnormal weights and biases of products as zeros. Training leaves many of them in channels that
// weight decay has emptied, and a processor takes about a hundred times longer for their products,
// which are below the rounding of any sum that they join.
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/subnormals.h"
#include "graph/ir/graph_edit.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// A product, and the first of its inputs that are weights or biases.
struct Product {
  std::string_view op;
  size_t first;
};

constexpr Product kProducts[] = {{"Conv", 1}, {"ConvTranspose", 1}, {"MatMul", 0}, {"Gemm", 0},
                                 {"LSTM", 1}, {"GRU", 1},           {"RNN", 1}};

// Where the node's weights begin among its inputs; behind them all unless it is a product.
size_t FirstWeight(const Node& node) {
  for (const Product& product : kProducts) {
    if (node.Is(product.op)) return product.first;
  }
  return node.inputs.size();
}

// The constant with zeros for `id`, which `flushed` keeps; `id` itself where nothing is subnormal.
ValueId FlushedConstant(Graph& graph, ValueId id, std::map<ValueId, ValueId>& flushed) {
  const auto [entry, is_new] = flushed.emplace(id, id);
  if (!is_new) return entry->second;
  const Tensor* constant = FixedConstant(graph, id);
  if (constant == nullptr || constant->dtype() != DType::kFloat32) return id;
  if (!HasSubnormals(constant->span<float>())) return id;
  Tensor zeroed = constant->Clone();
  SubnormalsToZero({zeroed.mutable_data<float>(), static_cast<size_t>(zeroed.num_elements())});
  const std::string name = graph.UniqueName(absl::StrCat(graph.value(id).name, "_flushed"));
  return entry->second = GraphEdit(graph).AddConstant(name, std::move(zeroed));
}

}  // namespace

absl::StatusOr<int> FlushSubnormals(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.excess_precision) return 0;
  int patches = 0;
  std::map<ValueId, ValueId> flushed;
  for (const NodeId id : graph.node_ids()) {
    const std::vector<ValueId> inputs = graph.node(id).inputs;
    for (size_t i = FirstWeight(graph.node(id)); i < inputs.size() && budget > 0; ++i) {
      if (!inputs[i].valid()) continue;
      const ValueId replacement = FlushedConstant(graph, inputs[i], flushed);
      if (replacement == inputs[i]) continue;
      GraphEdit(graph).SetInput(id, static_cast<int>(i), replacement);
      --budget;
      ++patches;
    }
  }
  return patches;
}

}  // namespace onward
