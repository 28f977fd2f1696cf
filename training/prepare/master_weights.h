// Float32 masters of weights that a model has in 16 bits.
#pragma once

#include <set>
#include <string>

#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::training {

// Makes each of the constants `names` that is float16 or bfloat16 a float32 one of the same name,
// which the graph reads through one Cast: steps of an optimizer that are smaller than a rounding of
// 16 bits add up, as with master weights of torch.amp or apex O2. Left alone are inputs and outputs
// of the graph. Returns the dtypes that it met.
struct MasterWeights {
  int count = 0;
  std::set<DType> dtypes;
};
MasterWeights AddMasterWeights(Graph& graph, absl::Span<const std::string> names);

// Rounds the masters to their dtypes and takes the Casts away: the model is as it was, with the
// weights that it has now.
void RoundMasterWeights(Graph& graph);

}  // namespace onward::training
