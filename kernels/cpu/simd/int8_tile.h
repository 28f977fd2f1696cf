// The inner kernel of products of 8-bit integers, exact in int32 (sums wrap), per instruction set.
//
// Both operands are packed: rows as [row][k], vectors as panels [k / unit][tile_cols][unit], k
// padded with zeros to a multiple of `unit`. Elements are 16 bits wide (any 8-bit integer), or 8
// bits where the processor multiplies unsigned by signed bytes: then one side holds x + 128 of
// signed x, or x - 128 of unsigned x, as `RowsAre` and `VectorsAre` say.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

enum class ByteSigns : uint8_t { kRowsUnsigned, kVectorsUnsigned };

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

struct Int8TileKernels {
  int tile_rows;
  int tile_cols;
  int unit;           // elements of k side by side in a panel
  int element_bytes;  // 1 or 2
  // sums[r * tile_cols + c] for r < rows and all tile_cols columns. `a_row`: bytes between rows.
  void (*tile[2])(const void* a, int64_t a_row, int rows, const void* b, int64_t units,
                  int32_t* sums);  // by ByteSigns
  // Rows of `cols` results at y + r * y_row elements.
  void (*finish_int32)(const int32_t* sums, int rows, int cols, const Int8Finish& f, int32_t* y,
                       int64_t y_row);
  void (*finish_float)(const int32_t* sums, int rows, int cols, const Int8Finish& f, float* y,
                       int64_t y_row);
  // Bytes of either sign.
  void (*finish_byte)(const int32_t* sums, int rows, int cols, const Int8Finish& f, uint8_t* y,
                      int64_t y_row);
  // The tile's multiplications on registers alone (see peak_loops.h), so many operations a round.
  void (*peak)(int64_t rounds, float* sink);
  int peak_operations;
};

ONWARD_PER_TARGET(kInt8Loops, const Int8TileKernels&, Int8Tiles, ())

}  // namespace onward::kernels::cpu
