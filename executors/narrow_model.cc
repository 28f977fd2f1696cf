#include "executors/narrow_model.h"

#include "graph/ops/facts.h"

namespace onward::executors {
namespace {

struct Products {
  bool any = false;
  bool all_narrow = true;
};

void CountProducts(const Graph& graph, Products& products) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (const Subgraph& subgraph : node.subgraphs) CountProducts(*subgraph.graph, products);
    const OpFacts* facts = FindFacts(node.op_type, node.domain);
    if (facts == nullptr || facts->multiply_adds == nullptr || node.inputs.size() < 2) continue;
    products.any = true;
    for (size_t i = 0; i < 2; ++i) {
      if (!node.inputs[i].valid() || graph.type(node.inputs[i]).dtype != DType::kBFloat16)
        products.all_narrow = false;
    }
  }
}

}  // namespace

bool MultipliesBf16Alone(const Graph& graph) {
  Products products;
  CountProducts(graph, products);
  return products.any && products.all_narrow;
}

}  // namespace onward::executors
