#pragma once

#include "kernels/cpu/simd/double_tile.h"
#include "kernels/cpu/simd/doubles_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// Accumulators, two of B and one of A fill the registers.
inline constexpr int kDoubleRows = kRegisters == 32 ? 12 : 6;
inline constexpr int kDoubleCols = 2 * kDoubles;

ONWARD_INLINE void AddToRow(double* c, Doubles v, int lanes, bool accumulate) {
  if (lanes == kDoubles) return StoreDoubles(c, accumulate ? v + LoadDoubles(c) : v);
  StoreFirstDoubles(c, accumulate ? v + LoadFirstDoubles(c, lanes) : v, lanes);
}

template <int kRows>
ONWARD_INLINE void MultiplyDoubles(const DoubleTile& t) {
  Doubles sums[kRows][2];
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = Doubles{};
  const double *a = t.a, *b = t.b;
  const int64_t a_row = t.a_row, a_k = t.a_k, b_k = t.b_k;
  for (int64_t k = t.k; k > 0; --k, a += a_k, b += b_k) {
    const Doubles x = LoadDoubles(b), y = LoadDoubles(b + kDoubles);
    ONWARD_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const double factor = a[r * a_row];
      sums[r][0] += factor * x;
      sums[r][1] += factor * y;
    }
  }
  const int first = t.cols < kDoubles ? t.cols : kDoubles, second = t.cols - first;
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    AddToRow(t.c + r * t.c_row, sums[r][0], first, t.accumulate);
    if (second > 0) AddToRow(t.c + r * t.c_row + kDoubles, sums[r][1], second, t.accumulate);
  }
}

template <int kRows>
void MultiplyDoubleRows(const DoubleTile& tile) {
  if constexpr (kRows > 0) {
    if (tile.rows == kRows) return MultiplyDoubles<kRows>(tile);
    MultiplyDoubleRows<kRows - 1>(tile);
  }
}

inline void PackDoubles(const double* b, int64_t b_k, int count, int64_t k, double* packed) {
  const int first = count < kDoubles ? count : kDoubles, second = count - first;
  for (int64_t i = 0; i < k; ++i, b += b_k, packed += kDoubleCols) {
    if (second == kDoubles) {
      StoreDoubles(packed, LoadDoubles(b));
      StoreDoubles(packed + kDoubles, LoadDoubles(b + kDoubles));
    } else {
      StoreDoubles(packed, LoadFirstDoubles(b, first));
      StoreDoubles(packed + kDoubles, LoadFirstDoubles(b + first, second));
    }
  }
}

const DoubleTiles& TilesOfDouble() {
  static constexpr DoubleTiles kTiles = {kDoubleRows, kDoubleCols, MultiplyDoubleRows<kDoubleRows>,
                                         PackDoubles};
  return kTiles;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
