// Arithmetic and memory traffic of a graph, estimated from its types.
#pragma once

#include <map>
#include <string>

#include "graph/base/value.h"
#include "graph/ir/graph.h"

namespace onward {

struct GraphCost {
  double flops = 0;  // matrix products, convolutions and recurrences, 2 per multiply-add
  double bytes = 0;  // constants plus inputs and outputs of the graph, each once
};

// Symbols take the sizes that `inputs` show; dims that stay unknown count as 1.
GraphCost CostOf(const Graph& graph, const std::map<std::string, Value>& inputs);

// What no run of the graph can do without, however its kernels compute: for shares of a machine's
// peak. By the dtype of the operands: multiply-adds that only add padding are left out.
struct LeastCost {
  std::map<DType, double> flops;
  double read_bytes = 0;     // inputs and constants as far as they are read
  double written_bytes = 0;  // outputs
};

// Sizes as CostOf.
LeastCost LeastCostOf(const Graph& graph, const std::map<std::string, Value>& inputs);

// Bytes of all constants, subgraphs included.
int64_t ConstantBytes(const Graph& graph);

}  // namespace onward
