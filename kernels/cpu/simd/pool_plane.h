// Pools over whole planes of float32 and their gradients, and maxima of bytes, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// A plane of rows x columns and the gradient of its windows.
struct PoolPlane {
  const float* x = nullptr;
  const float* dy = nullptr;
  int64_t in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
};

struct PoolPlaneKernels {
  float (*largest)(const float* x, int64_t count);  // NaN if any is
  float (*sum)(const float* x, int64_t count);
  // dx of a maximum over windows of 2 x 2 that lie beside each other: dy where the first largest
  // element or NaN of the window is, else zero.
  void (*max_gradient_of_squares)(const PoolPlane& plane, float* dx);
  // y = the greater one of x and y, of each element.
  void (*greater_uint8)(const uint8_t* x, int64_t count, uint8_t* y);
  void (*greater_int8)(const int8_t* x, int64_t count, int8_t* y);
};

ONWARD_PER_TARGET(kVectorLoops, const PoolPlaneKernels&, Pools, ())

}  // namespace onward::kernels::cpu
