// Products of rows of numbers with several vectors, in double, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// The rows of x and the vectors, `count` numbers each, lie one after another;
// sums[row * num_vectors + v] is that of a row and a vector, with the same bits in any number of
// rows.
struct RowDots {
  // The sums of x[i] * vector[i].
  void (*of_floats)(const float* x, int64_t rows, const double* vectors, int64_t num_vectors,
                    int64_t count, double* sums);
  void (*of_doubles)(const double* x, int64_t rows, const double* vectors, int64_t num_vectors,
                     int64_t count, double* sums);
  // The sums of the squares of x[i] - vector[i].
  void (*distances)(const double* x, int64_t rows, const double* vectors, int64_t num_vectors,
                    int64_t count, double* sums);
};

ONWARD_PER_TARGET(kVectorLoops, const RowDots&, DotsOfRows, ())

}  // namespace onward::kernels::cpu
