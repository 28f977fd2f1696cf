#include "kernels/cpu/transpose_bytes.h"

#include <algorithm>
#include <cstring>

namespace onward::kernels::cpu {
namespace {

constexpr int kSide = 16;

using Bytes = uint8_t __attribute__((vector_size(kSide)));

// The bytes of the lower halves in turn, and those of the upper ones.
inline __attribute__((always_inline)) void InterleaveHalves(Bytes a, Bytes b, Bytes* low,
                                                            Bytes* high) {
  *low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  *high =
      __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// One of four equal steps: rows r and r + 8 become rows 2 r and 2 r + 1, interleaved. Each rotates
// the eight bits of (row, column) by one, so that four of them swap row and column.
inline __attribute__((always_inline)) void Step(const Bytes (&from)[kSide], Bytes (&to)[kSide]) {
#pragma GCC unroll 8
  for (int r = 0; r < kSide / 2; ++r) {
    InterleaveHalves(from[r], from[r + kSide / 2], &to[2 * r], &to[2 * r + 1]);
  }
}

// A block of 16 rows and `columns` <= 16 columns; kColumns, where it is 16.
template <int kColumns>
inline __attribute__((always_inline)) void TransposeBlock(const uint8_t* from, int64_t from_stride,
                                                          int columns, uint8_t flip, uint8_t* to,
                                                          int64_t to_stride) {
  Bytes a[kSide], b[kSide];
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) {
    a[r] = Bytes{};
    std::memcpy(&a[r], from + r * from_stride,
                static_cast<size_t>(kColumns > 0 ? kColumns : columns));
    a[r] ^= flip;
  }
  Step(a, b);
  Step(b, a);
  Step(a, b);
  Step(b, a);
  if constexpr (kColumns > 0) columns = kColumns;
#pragma GCC unroll 16
  for (int c = 0; c < columns; ++c) std::memcpy(to + c * to_stride, &a[c], kSide);
}

}  // namespace

void TransposeBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns,
                    uint8_t flip, uint8_t* to, int64_t to_stride) {
  int64_t r = 0;
  for (; r + kSide <= rows; r += kSide) {
    const uint8_t* line = from + r * from_stride;
    int64_t c = 0;
    for (; c + kSide <= columns; c += kSide)
      TransposeBlock<kSide>(line + c, from_stride, kSide, flip, to + c * to_stride + r, to_stride);
    if (c == columns) continue;
    TransposeBlock<0>(line + c, from_stride, static_cast<int>(columns - c), flip,
                      to + c * to_stride + r, to_stride);
  }
  if (r == rows) return;
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t rest = r; rest < rows; ++rest)
      to[c * to_stride + rest] = static_cast<uint8_t>(from[rest * from_stride + c] ^ flip);
  }
}

}  // namespace onward::kernels::cpu
