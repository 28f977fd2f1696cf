// The search for the first of many boxes that overlaps a given one.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// Boxes as columns. The arrays hold kBoxPadding floats more than boxes, of any value.
struct BoxColumns {
  const float* x_min;
  const float* y_min;
  const float* x_max;
  const float* y_max;
  const float* area;
};
inline constexpr int64_t kBoxPadding = 16;

struct Box {
  float x_min, y_min, x_max, y_max, area;
};

// Returns the first of boxes [begin, end) whose overlap with `box` has a positive width and height
// and at least `share` of the area of both together, but for rounding, or end. Boxes with NaN
// overlap nothing.
ONWARD_PER_TARGET(kVectorLoops, int64_t, FirstOverlap,
                  (const BoxColumns& boxes, const Box& box, float share, int64_t begin,
                   int64_t end))
using FirstOverlapLoop = decltype(&baseline::FirstOverlap);

}  // namespace onward::kernels::cpu
