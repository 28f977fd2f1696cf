// The geometry of ScatterElements and ScatterND.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct ScatterElementsPlan {
  int64_t axis = 0;
  const int64_t* strides = nullptr;        // of data
  const int64_t* index_strides = nullptr;  // of indices and updates
};

// Keeps ScatterElementsPlan as the state and settles output 0, which may overwrite the data. Inputs
// data, indices, updates.
absl::Status BindScatterElements(BindContext& context, int64_t axis);

// `rows` indices of `depth` numbers; each writes `inner` elements.
struct ScatterNDPlan {
  int64_t depth = 0, rows = 0, inner = 0;
  const int64_t* dims = nullptr;     // of data
  const int64_t* strides = nullptr;  // of data
};

// The same for ScatterNDPlan.
absl::Status BindScatterND(BindContext& context);

}  // namespace onward::kernels
