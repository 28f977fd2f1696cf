// The geometry of Gather, GatherElements and GatherND.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// data as [outer, dim, inner] with the axis in the middle; the output as [outer, count, inner],
// `count` being the number of indices.
struct GatherSizes {
  int64_t outer = 0, dim = 0, inner = 0, count = 0;
};

// Keeps GatherSizes as the state and settles output 0. Inputs data, indices.
absl::Status BindGather(BindContext& context, int64_t axis);

struct GatherElementsPlan {
  int64_t axis = 0;
  const int64_t* strides = nullptr;  // of data
};

// Keeps GatherElementsPlan as the state and settles output 0. Inputs data, indices.
absl::Status BindGatherElements(BindContext& context, int64_t axis);

struct GatherNDPlan {
  int64_t depth = 0;  // numbers of one index
  int64_t rows_per_batch = 0, batch_stride = 0, inner = 0, rows = 0;
  const int64_t* dims = nullptr;     // of data, behind those of the batch
  const int64_t* strides = nullptr;  // of these
};

// Keeps GatherNDPlan as the state and settles output 0. Inputs data, indices.
absl::Status BindGatherND(BindContext& context, int64_t batch_dims);

}  // namespace onward::kernels
