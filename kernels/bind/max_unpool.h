// The geometry of MaxUnpool; output_shape lies on the host.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/bind/pool.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Indices count elements of the tensor that MaxPool read, whose dims are the inferred ones; it lies
// at the begin of every axis of an output that output_shape makes larger.
struct MaxUnpoolPlan {
  absl::Span<int64_t> inferred;
  int64_t size = 0;             // elements of the inferred dims
  int64_t outputs = 0;          // elements of the output
  absl::Span<int64_t> strides;  // of the output
};

// Keeps MaxUnpoolPlan as the state and settles output 0; defers the node where output_shape is not
// known yet. Inputs X, I, output_shape.
absl::Status BindMaxUnpool(BindContext& context, const PoolAttributes& attributes);

}  // namespace onward::kernels
