// The inner kernel of products of 8-bit integers, exact in int32 (sums wrap), per instruction set.
//
// The k of each run is padded with zeros to a multiple of `unit`: what rows have there is read and
// does not count. Elements are 16 bits wide (any 8-bit integer), or 8 bits where the processor
// multiplies unsigned by signed bytes: then rows hold x + 128 of signed x, and vectors x - 128 of
// unsigned x.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/run_product.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// Finishes a tile: c = sums + row_add[i] + col_add[j] + row_mul[i] * col_mul[j], then y = c as
// int32, c * scale + bias as float, or c * scale rounded half to even, + zero, saturated. Pointers
// of columns point at the tile's first; null stands for zeros, or ones for scales.
struct Int8Finish {
  const int32_t* row_add = nullptr;
  const int32_t* col_add = nullptr;
  const int32_t* row_mul = nullptr;
  const int32_t* col_mul = nullptr;
  const float* row_scale = nullptr;  // exactly one of these two where there is a scale
  const float* col_scale = nullptr;
  const float* col_bias = nullptr;  // float results only
  float zero = 0;
  float low = 0, high = 0;  // the result's range
};

// The most of any target, for arrays of rows and of sums.
inline constexpr int kMostInt8Rows = 32;
inline constexpr int kMostInt8Sums = kMostInt8Rows * 32;

struct Int8TileKernels {
  int tile_rows;
  int tile_cols;
  int unit;           // elements of k side by side in a panel
  int element_bytes;  // 1 or 2
  // sums[r * tile_cols + c] for r < num_rows and all tile_cols columns.
  void (*tile)(const RunProduct& product, int32_t* sums);
  // The same where each column has elements of its own: a run has tile_cols of them, one after
  // another, and in the panel int32 whose upper halves are zero.
  void (*depthwise)(const RunProduct& product, int32_t* sums);
  // Rows of `cols` results at y + r * y_row elements.
  void (*finish_int32)(const int32_t* sums, int rows, int cols, const Int8Finish& f, int32_t* y,
                       int64_t y_row);
  void (*finish_float)(const int32_t* sums, int rows, int cols, const Int8Finish& f, float* y,
                       int64_t y_row);
  // Bytes of either sign.
  void (*finish_byte)(const int32_t* sums, int rows, int cols, Int8Finish f, uint8_t* y,
                      int64_t y_row);
  // The tile's multiplications on registers alone (see peak_loops.h), so many operations a round.
  void (*peak)(int64_t rounds, float* sink);
  int peak_operations;

  RunTileSizes sizes() const { return {tile_rows, tile_cols, unit, element_bytes}; }
};

ONWARD_PER_TARGET(kInt8Loops, const Int8TileKernels&, Int8Tiles, ())

}  // namespace onward::kernels::cpu
