// The geometry of ReverseSequence.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The input as rows of `inner` elements, which are those behind both axes; strides count rows.
struct ReverseSequencePlan {
  int64_t batch = 0, batch_stride = 1, steps = 0, time_stride = 1, inner = 1;
};

// Keeps ReverseSequencePlan as the state and settles output 0.
absl::Status BindReverseSequence(BindContext& context, int64_t batch_axis, int64_t time_axis);

}  // namespace onward::kernels
