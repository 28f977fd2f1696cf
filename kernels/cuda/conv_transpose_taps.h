// ConvTranspose with a thread for each output, which looks for the taps that reach it.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/bind/window.h"
#include "onward/kernel.h"

namespace onward::kernels::cuda {

struct TransposedAxis {
  int64_t x, y;  // sizes
  int64_t kernel, stride, dilation, pad;
  int64_t tap_step;  // from a tap that reaches a position to the next one that does
  int64_t x_step;    // between the elements of x that they come from
};

// `axis`: of the convolution whose gradient it is.
TransposedAxis TransposedAxisOf(const WindowAxis& axis);

struct GatherPlan {
  TransposedAxis h, w;
  int64_t count;                     // outputs
  int64_t group, channels, filters;  // the last two of one group
};

// Inputs X, W and, where there is one, bias; output Y.
using LaunchTaps = absl::Status (*)(const RunContext& context, const GatherPlan& plan);

// Null: a dtype that is not a float.
LaunchTaps TapsOf(DType dtype);

}  // namespace onward::kernels::cuda
