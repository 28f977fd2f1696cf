#include "graph/infer/cost.h"

namespace onward {
namespace {

using Symbols = std::map<std::string, double>;

class Estimator {
 public:
  Estimator(const Graph& graph, const Symbols& symbols) : graph_(graph), symbols_(symbols) {}

  double Flops() const {
    double total = 0;
    for (NodeId id : graph_.node_ids()) {
      const Node& node = graph_.node(id);
      total += NodeFlops(node);
      for (const Subgraph& subgraph : node.subgraphs)
        total += Estimator(*subgraph.graph, symbols_).Flops();
    }
    return total;
  }

  double Elements(ValueId id) const {
    double count = 1;
    for (double size : Sizes(id)) count *= size;
    return count;
  }

 private:
  std::vector<double> Sizes(ValueId id) const {
    std::vector<double> sizes;
    if (!id.valid() || !graph_.type(id).shape) return sizes;
    for (const Dim& dim : *graph_.type(id).shape) {
      const auto it = symbols_.find(dim.expression());
      sizes.push_back(dim.known()            ? static_cast<double>(dim.value())
                      : it == symbols_.end() ? 1.0
                                             : it->second);
    }
    return sizes;
  }

  double NodeFlops(const Node& node) const {
    const auto dim_from_end = [&](size_t input, size_t from_end) {
      const std::vector<double> sizes =
          input < node.inputs.size() ? Sizes(node.inputs[input]) : std::vector<double>();
      return sizes.size() > from_end ? sizes[sizes.size() - 1 - from_end] : 1.0;
    };
    if (node.outputs.empty()) return 0;
    const std::string& op = node.op_type;
    if (op == "MatMul" || op == "FusedMatMul" || op == "MatMulInteger" || op == "QLinearMatMul") {
      return 2 * Elements(node.outputs[0]) *
             dim_from_end(0, node.attributes.Int("transA", 0) ? 1 : 0);
    }
    if (op == "Gemm")
      return 2 * Elements(node.outputs[0]) *
             dim_from_end(0, node.attributes.Int("transA", 0) ? 1 : 0);
    if (op == "Conv" || op == "FusedConv" || op == "ConvInteger") {
      const std::vector<double> weights = Sizes(node.inputs[1]);
      return weights.empty()
                 ? 0
                 : 2 * Elements(node.outputs[0]) * Elements(node.inputs[1]) / weights[0];
    }
    if (op == "ConvTranspose") {
      const std::vector<double> weights = Sizes(node.inputs[1]);
      return weights.empty() ? 0
                             : 2 * Elements(node.inputs[0]) * Elements(node.inputs[1]) / weights[0];
    }
    if (op == "LSTM" || op == "GRU" || op == "RNN") {
      const std::vector<double> x = Sizes(node.inputs[0]);
      return x.size() < 2 ? 0
                          : 2 * x[0] * x[1] * (Elements(node.inputs[1]) + Elements(node.inputs[2]));
    }
    return 0;
  }

  const Graph& graph_;
  const Symbols& symbols_;
};

}  // namespace

GraphCost CostOf(const Graph& graph, const std::map<std::string, Value>& inputs) {
  Symbols symbols;
  GraphCost cost;
  for (ValueId id : graph.inputs()) {
    const auto it = inputs.find(graph.value(id).name);
    if (it == inputs.end() || !it->second.is_tensor()) continue;
    const Tensor& tensor = it->second.tensor();
    cost.bytes += static_cast<double>(tensor.byte_size());
    const auto& shape = graph.type(id).shape;
    for (size_t i = 0; shape && i < shape->size() && i < tensor.dims().size(); ++i) {
      if ((*shape)[i].symbolic())
        symbols[(*shape)[i].expression()] = static_cast<double>(tensor.dims()[i]);
    }
  }
  const Estimator estimator(graph, symbols);
  cost.flops = estimator.Flops();
  cost.bytes += static_cast<double>(ConstantBytes(graph));
  for (ValueId id : graph.outputs()) {
    if (graph.type(id).is_tensor())
      cost.bytes += estimator.Elements(id) * BitSize(graph.type(id).dtype) / 8;
  }
  return cost;
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
