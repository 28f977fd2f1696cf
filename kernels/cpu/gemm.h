// Products of float32 matrices: how the work is cut, the packed form of constant operands, and the
// loops around the tiles of kernels/cpu/simd/gemm_tile.h.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/simd/gemm_tile.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// The layout of the second operand in memory.
enum class ColumnsLayout : uint8_t {
  kRows,        // B[k, n] at b[k * stride + n]
  kTransposed,  // B[k, n] at b[n * stride + k]
  kPanels,      // as PackedMatrix
};

// A k x n matrix in panels of tile_cols columns, [n / tile_cols][k][tile_cols], zero beyond n. With
// tiles of pairs of bfloat16 a word holds two steps of k.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // Packs alpha * B. ResourceExhausted when there is no memory for it.
  static absl::StatusOr<PackedMatrix> Pack(const GemmTileKernels& tiles, const float* b,
                                           int64_t stride, bool transposed, int64_t k, int64_t n,
                                           float alpha = 1.0f);
  // The numbers of a matrix of pairs, for tiles of float32 that are as wide.
  static absl::StatusOr<PackedMatrix> Widen(const GemmTileKernels& tiles, const PackedMatrix& pairs,
                                            int64_t k, int64_t n);
  bool empty() const { return panels_.empty(); }
  const float* data() const { return panels_.data<float>(); }

 private:
  Tensor panels_;
};

// Returns how many rows of A, `a_row` floats apart, a tile of `tile_rows` reads as they lie. Rows
// that begin in one set of the first-level cache evict each other at each step of K if there are
// more of them than the set has ways.
int MostRowsOfTile(int tile_rows, int64_t a_row);

// Returns how many steps of K a block should have of which `rows` rows of A are read again and
// again: half of the second-level cache.
int64_t BlockOfK(int64_t rows);

// The chunks of one product, or of a batch of equal ones. They depend on sizes alone.
struct GemmPlan {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batches = 1;
  int64_t row_tiles = 0;  // tiles along m, of equal size but for one row
  int64_t tiles_per_chunk = 0;
  int64_t panels_per_chunk = 0;
  int64_t row_chunks = 0;
  int64_t column_chunks = 0;
  int64_t k_block = 0;
  int64_t grain = 1;  // chunks that one thread takes at a time
  ColumnsLayout layout = ColumnsLayout::kRows;
  bool pack_columns = false;  // each chunk packs its part of B to the worker's scratch
  int64_t row_stride = 0;     // of A packed as pairs; 0 where tiles read A as it lies
  int64_t packed_rows = 0;    // where in the scratch they begin
  int64_t scratch = 0;        // floats per worker

  int64_t chunks_per_batch() const { return row_chunks * column_chunks; }
  int64_t chunks() const { return batches * chunks_per_batch(); }
};

GemmPlan PlanGemm(const GemmTileKernels& tiles, ColumnsLayout layout, int64_t m, int64_t n,
                  int64_t k, int64_t batches, bool scaled);

// One product: C = activation(alpha A B + biases + residual).
struct GemmArguments {
  const float* a = nullptr;  // A[m, k] at a[m * a_row + k * a_k]; one of the strides is 1
  int64_t a_row = 0;
  int64_t a_k = 1;
  const float* b = nullptr;
  int64_t b_stride = 0;  // unused for panels
  float alpha = 1.0f;    // other than 1 only if the plan was made `scaled`
  float* c = nullptr;
  int64_t c_row = 0;
  const float* bias_of_column = nullptr;  // [n]
  const float* bias_of_row = nullptr;     // [m]
  const float* residual = nullptr;
  int64_t residual_row = 0;
  ActivationSpec activation;
};

// Brings rows of C into the cache, which a later tile adds to or writes.
inline void FetchRows(const float* c, int64_t c_row, int64_t rows, int64_t columns) {
  constexpr int64_t kLineOfCache = 16;  // floats
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < columns; i += kLineOfCache) __builtin_prefetch(c + r * c_row + i, 1);
}

// The part of C that a chunk computes.
struct GemmChunk {
  int64_t row_begin, row_end, column_begin, column_end;
};
GemmChunk GemmChunkAt(const GemmTileKernels& tiles, const GemmPlan& plan, int64_t chunk);

// Computes chunk `chunk` in [0, chunks_per_batch()) of one product. `scratch`: the worker's
// plan.scratch floats.
void RunGemmChunk(const GemmTileKernels& tiles, const GemmPlan& plan, const GemmArguments& args,
                  int64_t chunk, float* scratch);

}  // namespace onward::kernels::cpu
