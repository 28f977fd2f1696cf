// The inner kernel of products of double: one tile of C for one block of K, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// C[r, c] = sum over k of A[r, k] B[k, c] for r < rows, c < cols, in the order of k; it is added to
// C where the tile accumulates.
struct DoubleTile {
  int rows = 0;  // 1 .. DoubleTiles::rows
  int cols = 0;  // 1 .. DoubleTiles::cols
  int64_t k = 0;
  const double* a = nullptr;  // A[r, k] at a[r * a_row + k * a_k]
  int64_t a_row = 0, a_k = 0;
  const double* b = nullptr;  // B[k, c] at b[k * b_k + c], readable for DoubleTiles::cols columns
  int64_t b_k = 0;
  double* c = nullptr;
  int64_t c_row = 0;
  bool accumulate = false;
};

struct DoubleTiles {
  int rows, cols;
  void (*tile)(const DoubleTile& tile);
  // Copies k rows of `count` <= cols columns, `b_k` apart, to rows of `cols`, filled up with zeros.
  void (*pack)(const double* b, int64_t b_k, int count, int64_t k, double* packed);
};

ONWARD_PER_TARGET(kVectorLoops, const DoubleTiles&, TilesOfDouble, ())

}  // namespace onward::kernels::cpu
