// The arithmetic and memory traffic that no run of a graph can do without.
#pragma once

#include <map>
#include <string>

#include "onward/graph.h"
#include "onward/value.h"

namespace onward {

// For shares of a machine's peak, however the kernels compute. Flops are by the dtype of the
// operands; multiply-adds that only add padding are left out.
struct LeastCost {
  std::map<DType, double> flops;
  double read_bytes = 0;     // inputs and constants as far as they are read
  double written_bytes = 0;  // outputs
};

// With the sizes of symbols that `inputs` show; other symbols and unknown dims count as 1.
LeastCost LeastCostOf(const Graph& graph, const std::map<std::string, Value>& inputs);

}  // namespace onward
