// The multiply-adds of products, as dims: what an op costs before any algorithm.
#pragma once

#include <vector>

#include "onward/graph.h"

namespace onward {

// Each element is a product of dims, which is a number of multiply-adds; an unknown dim where a
// size is open. The node has the op's required inputs and its first output.
using Products = std::vector<SymbolicDims>;

Products MatMulAdds(const Graph& graph, const Node& node);       // MatMul, Gemm and their kin
Products ConvAdds(const Graph& graph, const Node& node);         // weights are input 1
Products QLinearConvAdds(const Graph& graph, const Node& node);  // weights are input 3
Products PointwiseDepthwiseAdds(const Graph& graph, const Node& node);
Products ConvTransposeAdds(const Graph& graph, const Node& node);
Products RecurrentAdds(const Graph& graph, const Node& node);  // LSTM, GRU, RNN

}  // namespace onward
