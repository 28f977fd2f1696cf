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
// `minimal_filtering`: kernels may use Winograd's, in which convolutions of 3x3 taps with strides
// of 1 have down to a quarter of their products (tiles of 4 x 4, arXiv:1509.09308).
LeastCost LeastCostOf(const Graph& graph, const std::map<std::string, Value>& inputs,
                      bool minimal_filtering);

}  // namespace onward
