// Products of a matrix and one vector of float32, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

struct MatrixVector {
  // sums[r] = the sum of a[r * a_row + i] * x[i], i < k; the same bits for any number of rows.
  void (*dots)(const float* a, int64_t a_row, int64_t rows, const float* x, int64_t k, float* sums);
  // sums[c] += the sum of x[i] * b[i * b_k + c], i < k, in the order of i by fours.
  void (*add_rows)(const float* b, int64_t b_k, int64_t columns, const float* x, int64_t k,
                   float* sums);
};

ONWARD_PER_TARGET(kVectorLoops, const MatrixVector&, MatrixVectors, ())

}  // namespace onward::kernels::cpu
