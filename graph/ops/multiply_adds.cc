#include "graph/ops/multiply_adds.h"

namespace onward {
namespace {

SymbolicDims DimsOf(const Graph& graph, ValueId id) {
  return graph.type(id).shape.value_or(SymbolicDims(1));
}

// Files under inspection may lack what the op requires.
bool HasInput(const Node& node, size_t i) {
  return i < node.inputs.size() && node.inputs[i].valid();
}

SymbolicDims With(SymbolicDims dims, const SymbolicDims& more, size_t from) {
  for (size_t i = from; i < more.size(); ++i) dims.push_back(more[i]);
  return dims;
}

// Each element of `counted` meets every weight of one output channel.
Products Windows(const Graph& graph, ValueId counted, ValueId weights) {
  if (!graph.type(weights).shape) return {};
  return {With(DimsOf(graph, counted), DimsOf(graph, weights), 1)};
}

}  // namespace

Products MatMulAdds(const Graph& graph, const Node& node) {
  const SymbolicDims a = DimsOf(graph, node.inputs[0]);
  const size_t from_end = node.attributes.Int("transA", 0) != 0 ? 2 : 1;
  SymbolicDims product = DimsOf(graph, node.outputs[0]);
  if (a.size() >= from_end) product.push_back(a[a.size() - from_end]);
  return {product};
}

Products ConvAdds(const Graph& graph, const Node& node) {
  return Windows(graph, node.outputs[0], node.inputs[1]);
}

Products PointwiseDepthwiseAdds(const Graph& graph, const Node& node) {
  Products products = ConvAdds(graph, node);
  if (!HasInput(node, 2) || !graph.type(node.inputs[0]).shape) return products;
  const SymbolicDims filters = DimsOf(graph, node.inputs[2]);  // each meets every input
  if (!filters.empty()) products.push_back(With({filters[0]}, DimsOf(graph, node.inputs[0]), 0));
  return products;
}

Products QLinearConvAdds(const Graph& graph, const Node& node) {
  return HasInput(node, 3) ? Windows(graph, node.outputs[0], node.inputs[3]) : Products();
}

Products ConvTransposeAdds(const Graph& graph, const Node& node) {
  return Windows(graph, node.inputs[0], node.inputs[1]);
}

Products RecurrentAdds(const Graph& graph, const Node& node) {
  SymbolicDims steps = DimsOf(graph, node.inputs[0]);
  if (steps.size() < 2 || !HasInput(node, 2)) return {};
  steps.resize(2);
  return {With(steps, DimsOf(graph, node.inputs[1]), 0),
          With(steps, DimsOf(graph, node.inputs[2]), 0)};
}

}  // namespace onward
