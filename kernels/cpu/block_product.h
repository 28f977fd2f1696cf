// Products of blocks that stay in the caches, by one thread: both operands are packed to scratch
// where the tiles ask for it, and are used several times.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {

// B[k, n] in panels of tile_cols columns, [n / tile_cols][words][tile_cols], zero beyond n. A word
// is one step of k, or two of them as a pair.
struct BlockPanels {
  const float* data = nullptr;
  int64_t words = 0;  // of one column

  // Those from column `column` or from step `step` on; a multiple of tile_cols, and of k_per_word.
  BlockPanels FromColumn(int64_t column) const { return {data + column * words, words}; }
  BlockPanels FromStep(const GemmTileKernels& tiles, int64_t step) const {
    return {data + step / tiles.k_per_word * tiles.tile_cols, words};
  }
};
int64_t BlockPanelsSize(const GemmTileKernels& tiles, int64_t k, int64_t n);  // floats
// B[k, n] at b[k * stride + n], or at b[n * stride + k] when `transposed`.
BlockPanels PackBlockPanels(const GemmTileKernels& tiles, const float* b, int64_t stride,
                            bool transposed, int64_t k, int64_t n, float* to);

// A[r, k] as tiles read it: as it lies, or packed as pairs.
struct BlockRows {
  const float* data = nullptr;
  int64_t row = 0, step = 0;  // strides of r and of words; one of them is 1
};
int64_t BlockRowsSize(const GemmTileKernels& tiles, int64_t rows, int64_t k);  // floats
// Rows of pairs at `to`, which the caller writes: numbers of bfloat16, zero behind an odd last one.
BlockRows PairRowsAt(const GemmTileKernels& tiles, int64_t k, float* to);
// A[r, k] at a[r * stride + k], or at a[k * stride + r] when `transposed`.
BlockRows PackBlockRows(const GemmTileKernels& tiles, const float* a, int64_t stride,
                        bool transposed, int64_t rows, int64_t k, float* to);

// The part of a product that rows of C need: columns of B, and steps of k.
struct BlockWindow {
  int64_t column_begin, column_end;
  int64_t step_begin, step_end;
};

// C[m, n] at c[m * c_row + n] = A B, or += A B.
struct BlockProduct {
  int64_t m = 0, n = 0, k = 0;
  BlockRows a = {};
  BlockPanels b = {};
  float* c = nullptr;
  int64_t c_row = 0;
  bool accumulate = false;
};
// `window(begin, end)`: of rows [begin, end); elsewhere C need not be computed, and products are 0.
void Multiply(const GemmTileKernels& tiles, const BlockProduct& product,
              absl::FunctionRef<BlockWindow(int64_t, int64_t)> window);

}  // namespace onward::kernels::cpu
