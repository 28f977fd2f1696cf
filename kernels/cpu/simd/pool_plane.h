// Pooling of one plane of float32, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// A plane of rows x columns and its windows. All sizes are in elements; window taps outside the
// plane are ignored.
struct PoolPlane {
  const float* x = nullptr;
  float* y = nullptr;
  const float* dy = nullptr;  // of gradients, in the place of y
  int64_t in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  int64_t kernel_rows = 1, kernel_columns = 1;
  int64_t stride_rows = 1, stride_columns = 1;
  int64_t dilation_rows = 1, dilation_columns = 1;
  int64_t pad_rows = 0, pad_columns = 0;  // at the begin
  // Averages divide by row_counts[row] * column_counts[column].
  const float* row_counts = nullptr;
  const float* column_counts = nullptr;
};

// Floats of scratch that one plane needs.
int64_t PoolScratch(const PoolPlane& plane);

struct PoolPlaneKernels {
  void (*max)(const PoolPlane& plane, float* scratch);
  void (*average)(const PoolPlane& plane, float* scratch);
  float (*largest)(const float* x, int64_t count);  // NaN if any is
  float (*sum)(const float* x, int64_t count);
  // dx of a maximum over windows of 2 x 2 that lie beside each other: dy where the first largest
  // element or NaN of the window is, else zero. The plane's windows are not looked at.
  void (*max_gradient_of_squares)(const PoolPlane& plane, float* dx);
  // y = the greater one of x and y, of each element.
  void (*greater_uint8)(const uint8_t* x, int64_t count, uint8_t* y);
  void (*greater_int8)(const int8_t* x, int64_t count, int8_t* y);
};

ONWARD_PER_TARGET(kVectorLoops, const PoolPlaneKernels&, Pools, ())

}  // namespace onward::kernels::cpu
