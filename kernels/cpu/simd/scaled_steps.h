// Loops of the optimizers whose steps are scaled by norms (graph/optimizers/lamb.cc, adafactor.cc,
// muon.cc), per instruction set. Sums of squares are added in an order that depends on counts
// alone.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// Sums of squares.
struct StepSums {
  double parameter = 0, change = 0;
};

template <typename T>
struct LambNumbers {
  T first_weight, beta2, second_weight, epsilon, decay;
  T by_first, by_second;  // what corrects the moments
  T sign;                 // of the gradient
};

// Outputs may be their inputs.
template <typename T>
struct LambArrays {
  const T *p, *g, *m, *v;
  T *out, *next_m, *next_v;
};

template <typename T>
struct AdafactorNumbers {
  T weight;    // of the new squares
  T epsilon1;  // least mean of rows
  T floor;     // least variance
  T shrink;    // of the parameter
};

// The arrays of `rows` x `columns` matrices, or of single elements: then row_squares are those of
// each. Means of squares are given and then next.
template <typename T>
struct AdafactorArrays {
  const T *p, *g, *row_squares, *column_squares;
  T *out, *next_row_squares, *next_column_squares;
  int64_t rows, columns;
};

// Part of a matrix whose rows lie `stride` apart.
template <typename T>
struct AdafactorBlock {
  const T *p, *g;
  T* out;
  int64_t rows, columns, stride;
};

// A block's gradients times min(row_roots[r] * column_roots[c], most) are its changes, but for a
// factor of the whole matrix.
template <typename T>
struct AdafactorRoots {
  const T *row_roots, *column_roots;
  T most;
};

inline constexpr int64_t kTinyMatrix = 256;  // elements

// Ranges are of elements, or of matrices for the loops of tiny ones.
template <typename T>
struct ScaledStepLoops {
  // Writes the next moments.
  StepSums (*lamb_moments)(const LambNumbers<T>& n, const LambArrays<T>& a, int64_t begin,
                           int64_t end);
  // Writes p - rate * change, the change being that of the next moments.
  void (*lamb_apply)(const LambNumbers<T>& n, T rate, const LambArrays<T>& a, int64_t begin,
                     int64_t end);

  // Write the next means of squares.
  using Squares = StepSums (*)(const AdafactorNumbers<T>& n, const AdafactorArrays<T>& a,
                               int64_t begin, int64_t end);
  // Write p * shrink - rate * change.
  using Apply = void (*)(const AdafactorNumbers<T>& n, T rate, const AdafactorArrays<T>& a,
                         int64_t begin, int64_t end);
  Squares elements_squares;
  Apply elements_apply;
  Squares units_squares;  // of 1 x 1 matrices
  Apply units_apply;
  Squares tiny_squares;  // of matrices of at most kTinyMatrix elements
  Apply tiny_apply;
  // Writes the sums of the gradient's squares of each row and column; returns those of p.
  double (*block_squares)(const AdafactorBlock<T>& b, T* row_sums, T* column_sums);
  // roots[i] = 1 / sqrt(x[i])
  void (*inverse_roots)(const T* x, int64_t count, T* roots);
  // The squares of the changes.
  double (*block_changes)(const AdafactorBlock<T>& b, const AdafactorRoots<T>& roots);
  void (*block_apply)(const AdafactorBlock<T>& b, const AdafactorRoots<T>& roots, T shrink, T rate);

  // Writes the next momentum and x = the direction; returns the squares of x.
  double (*muon_direction)(T weight, T momentum, bool nesterov, T sign, const T* g, const T* state,
                           T* next, T* x, int64_t count);
  void (*divide)(T* x, T by, int64_t count);
  // out = p * shrink - rate * x
  void (*muon_apply)(const T* p, const T* x, T shrink, T rate, T* out, int64_t count);
};

ONWARD_PER_TARGET(kVectorLoops, const ScaledStepLoops<float>&, FloatSteps, ())
ONWARD_PER_TARGET(kVectorLoops, const ScaledStepLoops<double>&, DoubleSteps, ())

}  // namespace onward::kernels::cpu
