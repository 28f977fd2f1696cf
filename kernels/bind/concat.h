// Concat and Split: rows of several tensors side by side in one.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Part i has elements [ends[i - 1], ends[i]) of each of the `rows` rows of the whole tensor.
struct Parts {
  int64_t rows = 0;
  int64_t row = 0;  // elements
  int64_t count = 0;
  const int64_t* ends = nullptr;  // of the binding
};

// Set `parts` and the outputs. `attribute`: the attribute axis. InvalidArgument: inputs or sizes
// that do not fit.
absl::Status BindConcat(BindContext& context, int64_t attribute, Parts& parts);
// Input 1, where it is given, has the sizes, as a value of the host: the binding is deferred while
// it is not known.
absl::Status BindSplit(BindContext& context, int64_t attribute, Parts& parts);

// InvalidArgument: num_outputs is not the node's number of outputs.
absl::Status CheckSplit(const NodeSpec& spec);

}  // namespace onward::kernels
