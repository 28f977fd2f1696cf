#include "graph/infer/cost.h"

#include <vector>

#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr size_t kLongestFormula = 200;

class Estimator {
 public:
  Estimator(const SymbolSizes& sizes, GraphCost& cost) : sizes_(sizes), cost_(cost) {}

  void AddGraph(const Graph& graph) {
    for (const NodeId id : graph.node_ids()) AddNode(graph, id);
  }
  void AddNode(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    for (SymbolicDims& product : MultiplyAddsOf(graph, node)) {
      product.emplace_back(2);
      double flops = 1;
      for (const Dim& dim : product) flops *= SizeOf(dim);
      cost_.flops += flops;
      total_ = DimAdd(total_, DimProduct(product, 0, product.size()));
    }
    for (const Subgraph& subgraph : node.subgraphs) AddGraph(*subgraph.graph);
  }
  const Dim& total() const { return total_; }

 private:
  double SizeOf(const Dim& dim) {
    for (const std::string& symbol : DimSymbols(dim)) {
      if (!sizes_.contains(symbol)) cost_.assumed.insert(symbol);
    }
    return CountElements(Type::Tensor(DType::kFloat32, SymbolicDims{dim}), sizes_);
  }

  const SymbolSizes& sizes_;
  GraphCost& cost_;
  Dim total_ = Dim(0);
};

}  // namespace

double CountElements(const Type& type, const SymbolSizes& sizes) {
  double count = 1;
  for (const Dim& dim : type.shape.value_or(SymbolicDims())) {
    const std::optional<int64_t> size =
        dim.known() ? std::optional<int64_t>(dim.value())
                    : EvaluateDim(dim, [&](std::string_view symbol) -> std::optional<int64_t> {
                        const auto it = sizes.find(symbol);
                        return it == sizes.end() ? 1 : it->second;
                      });
    count *= static_cast<double>(dim.unknown() || !size ? 1 : std::max<int64_t>(0, *size));
  }
  return count;
}

void AddSymbolSizes(const Type& type, DimsView dims, SymbolSizes& sizes) {
  if (!type.shape || type.shape->size() != dims.size()) return;
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::vector<std::string> symbols = DimSymbols((*type.shape)[i]);
    if (symbols.size() == 1 && SymbolDim(symbols[0]) == (*type.shape)[i])
      sizes.emplace(symbols[0], dims[i]);
  }
}

GraphCost CostOf(const Graph& graph, const SymbolSizes& sizes) {
  GraphCost cost;
  Estimator estimator(sizes, cost);
  estimator.AddGraph(graph);
  const std::string formula = estimator.total().symbolic() ? estimator.total().expression() : "";
  if (formula.size() <= kLongestFormula) cost.flops_formula = formula;
  cost.bytes = static_cast<double>(ConstantBytes(graph));
  for (const auto* values : {&graph.inputs(), &graph.outputs()}) {
    for (ValueId id : *values) {
      const Type& type = graph.type(id);
      if (type.is_tensor() && !graph.is_constant(id))
        cost.bytes += CountElements(type, sizes) * BitSize(type.dtype) / 8;
    }
  }
  return cost;
}

double FlopsOf(const Graph& graph, NodeId id, const SymbolSizes& sizes) {
  GraphCost cost;
  Estimator(sizes, cost).AddNode(graph, id);
  return cost.flops;
}

GraphCost CostOf(const Graph& graph, const std::map<std::string, Value>& inputs) {
  SymbolSizes sizes;
  for (ValueId id : graph.inputs()) {
    const auto it = inputs.find(graph.value(id).name);
    if (it != inputs.end() && it->second.is_tensor())
      AddSymbolSizes(graph.type(id), it->second.tensor().dims(), sizes);
  }
  return CostOf(graph, sizes);
}

int64_t ConstantElements(const Graph& graph) {
  int64_t elements = 0;
  for (int i = 0; i < graph.num_values(); ++i) {
    if (const Tensor* constant = graph.constant({i})) elements += constant->num_elements();
  }
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs)
      elements += ConstantElements(*subgraph.graph);
  }
  return elements;
}

int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (int i = 0; i < graph.num_values(); ++i) {
    if (const Tensor* constant = graph.constant({i})) bytes += constant->byte_size();
  }
  for (NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs)
      bytes += ConstantBytes(*subgraph.graph);
  }
  return bytes;
}

}  // namespace onward
