// The sums of Resize's interpolating modes: one pass per axis that changes.
#pragma once

#include "onward/kernel.h"

namespace onward::kernels::cpu {

// One axis: `outer` slices of `in` positions of `inner` elements become `out` positions, each the
// weighted sum of `taps` others; see FillResizeTaps.
struct Pass {
  int64_t outer = 0, in = 0, out = 0, inner = 0, taps = 0;
  const int64_t* positions = nullptr;    // out * taps
  const double* weights = nullptr;       // likewise
  const float* float_weights = nullptr;  // the same, rounded
};

// State of a binding of Resize.
struct ResizePasses {
  int64_t num_passes = 0;
  const Pass* passes = nullptr;
  int64_t buffer = 0;  // elements of one intermediate buffer
};

// Runs the passes from input 0 to output 0; scratch is two buffers of accumulators. The state is
// ResizePasses.
using RunResize = void (*)(const RunContext& context, float extrapolation);

// The loop for a dtype and the bytes of its accumulator; null where the dtype has no sums.
RunResize InterpolationOf(DType dtype, int64_t* accumulator_size);

// The extrapolation value as an element of `dtype`, into `element`; nothing for other than numbers.
void StoreExtrapolation(DType dtype, float value, void* element);

}  // namespace onward::kernels::cpu
