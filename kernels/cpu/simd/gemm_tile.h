// The inner kernel of matrix products: one tile of C for one block of K. Targets with
// products of bfloat16 multiply pairs.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/simd/fetch_ahead.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// One tile: C[r, c] = sum over k of A[r, k] B[k, c] for r < rows, c < cols. Where kernels multiply
// pairs, `k` counts pairs, and each element of A and B is a word of two bfloat16, the one of the
// earlier step in the lower half.
struct GemmTile {
  int rows = 0;  // 1 .. tile_rows
  int cols = 0;  // 1 .. tile_cols
  int64_t k = 0;
  const float* a = nullptr;  // A[r, k] at a[r * a_row + k * a_k]; one of the strides is 1
  int64_t a_row = 0;
  int64_t a_k = 0;
  const float* b = nullptr;  // B[k, c] at b[k * b_k + c]
  int64_t b_k = 0;
  // Where K is several runs of `k` steps, those of A one after another: floats from b to B of each.
  // Only of kernels that read by row.
  const int64_t* b_runs = nullptr;
  int64_t num_runs = 1;
  bool b_padded = false;  // B may be read for tile_cols columns, whatever `cols` is
  float* c = nullptr;
  int64_t c_row = 0;

  // The sums start from C itself (a later block of K), or from the sum of those given.
  bool accumulate = false;
  const float* bias_of_column = nullptr;  // [cols]
  const float* bias_of_row = nullptr;     // [rows]
  const float* residual = nullptr;        // added like C
  int64_t residual_row = 0;
  // Applied to the results; leave empty for all but the last block of K.
  ActivationSpec activation;

  FetchAhead<float> fetch = {};  // by steps of K
};

// Where words of packed pairs lie: A[r, i] at r * row + i * step.
struct PairsOrder {
  int64_t row, step;
};

struct GemmTileKernels {
  Target target;
  int tile_rows;
  int tile_cols;
  int k_per_word;     // 1, or 2: A and B are packed as pairs of bfloat16, sums are float32
  bool reads_by_row;  // of pairs: a_k is 1
  void (*tile)(const GemmTile& tile);
  // Copies rows x k of A, A[r, k] at a[r * a_row + k], to packed[k * rows + r]; rows <= tile_rows.
  // Null for pairs.
  void (*pack_rows)(const float* a, int64_t a_row, int rows, int64_t k, float* packed);
  // Copies k x cols of B to packed[k * tile_cols + c], zero for c >= cols, times alpha. B[k, c] at
  // b[k * b_k + c], or at b[c * b_c + k] for the transposed one. Words are in the place of elements
  // for pairs; the last one is half zero if k is odd.
  void (*pack_columns)(const float* b, int64_t b_k, int cols, int64_t k, float alpha,
                       float* packed);
  void (*pack_columns_transposed)(const float* b, int64_t b_c, int cols, int64_t k, float alpha,
                                  float* packed);
  // For pairs, else null: copies A, A[r, k] at a[r * a_row + k], to words at packed[r * stride +
  // i], or A[r, k] at a[k * a_k + r] to words in the order below.
  void (*pack_pairs_of_rows)(const float* a, int64_t a_row, int64_t rows, int64_t k, int64_t stride,
                             float* packed);
  void (*pack_pairs_of_columns)(const float* a, int64_t a_k, int64_t rows, int64_t k,
                                int64_t stride, float* packed);
  // values[i] = activation(values[i]), for results that no tile finishes.
  void (*activate)(const ActivationSpec& activation, float* values, int64_t count);

  // Makes the calling thread keep the state of its processor from tile to tile (AMX), or give it
  // back, as it must before other work; null: there is none. See KeepTiles.
  void (*keep)(bool keeps) = nullptr;

  PairsOrder OrderOfColumns(int64_t rows, int64_t stride) const {
    return reads_by_row ? PairsOrder{stride, 1} : PairsOrder{1, rows};
  }
};

// Keeps a thread's state from tile to tile while it lives. Not nested.
class KeepTiles {
 public:
  explicit KeepTiles(const GemmTileKernels& tiles) : keep_(tiles.keep) {
    if (keep_ != nullptr) keep_(true);
  }
  ~KeepTiles() {
    if (keep_ != nullptr) keep_(false);
  }
  KeepTiles(const KeepTiles&) = delete;
  KeepTiles& operator=(const KeepTiles&) = delete;

 private:
  void (*keep_)(bool keeps);
};

// Products of float32, and of bfloat16 pairs.
ONWARD_PER_TARGET(kVectorLoops, const GemmTileKernels&, GemmTiles, ())
ONWARD_PER_TARGET(kBf16Loops, const GemmTileKernels&, Bf16Tiles, ())

}  // namespace onward::kernels::cpu
