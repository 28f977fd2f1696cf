// Softmax and normalization of rows of float32, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// y = (x + z - mean) / sqrt(variance + epsilon) * scale + bias over one row of `count` elements.
struct NormalizedRow {
  const float* x = nullptr;
  const float* z = nullptr;  // added to x first, or null
  float* sum = nullptr;      // where x + z goes; null only if z is (then x is read again)
  int64_t count = 0;
  float epsilon = 0;
  bool centered = true;          // false: the mean is taken as 0 (root mean square)
  const float* scale = nullptr;  // [count]
  const float* bias = nullptr;   // [count], or null
  float* y = nullptr;
};

struct RowLoops {
  // Softmax of rows of `count` elements. y may be x. `log`: the logarithm of it.
  void (*softmax)(const float* x, int64_t rows, int64_t count, bool log, float* y);
  // Softmax along `count` rows that lie `stride` apart, of `columns` <= kSoftmaxColumns columns.
  void (*softmax_columns)(const float* x, int64_t count, int64_t stride, int64_t columns, bool log,
                          float* y);
  // The largest x and the logarithm of the sum of exp(x - largest); of each row, of each column.
  void (*log_sum_exp)(const float* x, int64_t rows, int64_t count, float* top, float* log_sum);
  void (*log_sum_exp_columns)(const float* x, int64_t count, int64_t stride, int64_t columns,
                              float* top, float* log_sum);
  // Returns the mean (0 if not centered) and 1 / sqrt(variance + epsilon) through the pointers.
  void (*normalize)(const NormalizedRow& row, float* mean, float* inverse);
  void (*moments)(const float* x, int64_t count, float* mean, float* variance);
  // y[i] = x[i] * factor + offset; y may be x.
  void (*affine)(const float* x, int64_t count, float factor, float offset, float* y);
  // The sum of y and of y[i] * (x[i] - center).
  void (*products)(const float* x, const float* y, int64_t count, float center, double* sum,
                   double* product);
  // z[i] = x[i] * x_factor + y[i] * y_factor + offset.
  void (*combine)(const float* x, const float* y, int64_t count, float x_factor, float y_factor,
                  float offset, float* z);
};
inline constexpr int64_t kSoftmaxColumns = 64;

ONWARD_PER_TARGET(kVectorLoops, const RowLoops&, Rows, ())

}  // namespace onward::kernels::cpu
