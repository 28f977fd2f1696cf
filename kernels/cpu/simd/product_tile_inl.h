#pragma once

#include "kernels/cpu/simd/product_tile.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// kRows rows times two vectors of columns.
template <int kRows, typename T>
ONWARD_INLINE void MultiplyBlock(const T* a, const T* b, T* c, int64_t depth) {
  constexpr int kWidth = 4 * kLanes / static_cast<int>(sizeof(T));
  typedef T Wide __attribute__((vector_size(4 * kLanes), aligned(sizeof(T)), may_alias));
  typedef T Sums __attribute__((vector_size(4 * kLanes)));
  Sums sums[kRows][2];
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = Sums{};
  for (int64_t p = 0; p < depth; ++p, b += kTileColumns) {
    const Sums x = *reinterpret_cast<const Wide*>(b);
    const Sums y = *reinterpret_cast<const Wide*>(b + kWidth);
    ONWARD_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const T factor = a[r * kTileDepth + p];
      sums[r][0] += factor * x;
      sums[r][1] += factor * y;
    }
  }
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    Wide* to = reinterpret_cast<Wide*>(c + r * kTileColumns);
    to[0] += sums[r][0];
    to[1] += sums[r][1];
  }
}

template <typename T>
void MultiplyTile(const T* a, const T* b, T* c, int64_t rows, int64_t columns, int64_t depth) {
  constexpr int64_t kWidth = 2 * 4 * kLanes / static_cast<int64_t>(sizeof(T));
  constexpr int kRows = kLanes == 16 ? 8 : 4;
  for (int64_t j = 0; j < columns; j += kWidth) {
    int64_t i = 0;
    for (; i + 4 < rows; i += kRows)
      MultiplyBlock<kRows>(a + i * kTileDepth, b + j, c + i * kTileColumns + j, depth);
    if (i < rows) MultiplyBlock<4>(a + i * kTileDepth, b + j, c + i * kTileColumns + j, depth);
  }
}

const ProductTiles& Products() {
  static constexpr ProductTiles kTiles = {MultiplyTile<float>, MultiplyTile<double>};
  return kTiles;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
