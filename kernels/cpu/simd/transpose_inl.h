#pragma once

#include "kernels/cpu/simd/transpose.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// A square whose rows and columns may be fewer than the lanes.
ONWARD_INLINE void TransposeEdge(const char* from, int64_t from_stride, int rows, int columns,
                                 char* to, int64_t to_stride) {
  Vec square[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    square[i] =
        i < rows ? LoadN(reinterpret_cast<const float*>(from + i * from_stride), columns) : Vec{};
  }
  Transpose(square);
  for (int i = 0; i < columns; ++i)
    StoreN(reinterpret_cast<float*>(to + i * to_stride), square[i], rows);
}

ONWARD_INLINE void TransposeSquare(const char* from, int64_t from_stride, char* to,
                                   int64_t to_stride) {
  Vec square[kLanes];
  // Elements may be pairs of two bytes, aligned as those are.
  ONWARD_UNROLL
  for (int i = 0; i < kLanes; ++i)
    __builtin_memcpy(&square[i], from + i * from_stride, sizeof(Vec));
  Transpose(square);
  ONWARD_UNROLL
  for (int i = 0; i < kLanes; ++i) __builtin_memcpy(to + i * to_stride, &square[i], sizeof(Vec));
}

void TransposeMatrix(const char* from, int64_t from_stride, int64_t rows, int64_t columns, char* to,
                     int64_t to_stride) {
  constexpr int64_t kSide = 4 * kLanes;  // bytes
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int count = static_cast<int>(rows - r < kLanes ? rows - r : kLanes);
    const char* line = from + r * from_stride;
    char* column = to + r * 4;
    int64_t c = 0;
    if (count == kLanes) {
      for (; c + kLanes <= columns; c += kLanes, line += kSide, column += kLanes * to_stride)
        TransposeSquare(line, from_stride, column, to_stride);
    }
    for (; c < columns; c += kLanes, line += kSide, column += kLanes * to_stride) {
      const int left = static_cast<int>(columns - c < kLanes ? columns - c : kLanes);
      TransposeEdge(line, from_stride, count, left, column, to_stride);
    }
  }
}

TransposeLoop Transpose() { return TransposeMatrix; }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
