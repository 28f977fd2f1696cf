// The matrix product behind the reference kernels of products, convolutions, recurrences and
// attention: operands are packed tile by tile to the accumulator's type by the caller's functions,
// so any layout, dtype or implicit matrix (im2col) multiplies at the same rate. Every sum runs over
// k in order, whatever the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/simd/product_tile.h"
#include "onward/kernel.h"
#include "onward/small_float.h"

namespace onward::kernels::cpu {

// Where products of T are summed: float for the formats narrower than 32 bits, and unsigned for
// integers, whose overflow wraps.
template <typename T>
struct AccumulatorOf {
  using Type = float;
};
template <>
struct AccumulatorOf<double> {
  using Type = double;
};
template <>
struct AccumulatorOf<int64_t> {
  using Type = uint64_t;
};
template <>
struct AccumulatorOf<uint64_t> {
  using Type = uint64_t;
};
template <>
struct AccumulatorOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct AccumulatorOf<uint32_t> {
  using Type = uint32_t;
};
template <>
struct AccumulatorOf<int16_t> {
  using Type = uint32_t;
};
template <>
struct AccumulatorOf<uint16_t> {
  using Type = uint32_t;
};
template <>
struct AccumulatorOf<int8_t> {
  using Type = uint32_t;
};
template <>
struct AccumulatorOf<uint8_t> {
  using Type = uint32_t;
};
template <typename T>
using Accumulator = typename AccumulatorOf<T>::Type;

template <typename Acc>
struct Tiles {
  alignas(64) Acc a[kTileRows * kTileDepth];     // row-major, kTileDepth apart
  alignas(64) Acc b[kTileDepth * kTileColumns];  // row-major, kTileColumns apart
  alignas(64) Acc c[kTileRows * kTileColumns];
};

// c += a * b as ProductTile says.
template <typename Acc>
void MultiplyTiles(Tiles<Acc>& tiles, int64_t rows, int64_t columns, int64_t depth) {
  if constexpr (std::is_floating_point_v<Acc>) {
    const ProductTiles& products = kProductsPerTarget.For(VectorTarget())();
    if constexpr (std::is_same_v<Acc, float>)
      return products.of_float(tiles.a, tiles.b, tiles.c, rows, columns, depth);
    else
      return products.of_double(tiles.a, tiles.b, tiles.c, rows, columns, depth);
  }
  typedef Acc Vector __attribute__((vector_size(16), may_alias));
  constexpr int64_t kLanes = 16 / sizeof(Acc), kRows = 4;
  for (int64_t j = 0; j < columns; j += 2 * kLanes) {
    for (int64_t i = 0; i < rows; i += kRows) {
      Vector sums[kRows][2] = {};
      const Acc* a = tiles.a + i * kTileDepth;
      const Acc* b = tiles.b + j;
      for (int64_t p = 0; p < depth; ++p, b += kTileColumns) {
        const Vector* x = reinterpret_cast<const Vector*>(b);
        for (int64_t r = 0; r < kRows; ++r) {
          sums[r][0] += a[r * kTileDepth + p] * x[0];
          sums[r][1] += a[r * kTileDepth + p] * x[1];
        }
      }
      for (int64_t r = 0; r < kRows; ++r) {
        Vector* c = reinterpret_cast<Vector*>(tiles.c + (i + r) * kTileColumns + j);
        c[0] += sums[r][0];
        c[1] += sums[r][1];
      }
    }
  }
}

// For every batch, C (m x n) = A (m x k) * B (k x n):
//   pack_a(batch, row, rows, p, depth, to) writes A[row + i][p + q] to to[i * kTileDepth + q];
//   pack_b(batch, p, depth, column, columns, to) writes B[p + q][column + j] to
//     to[q * kTileColumns + j];
//   store(batch, row, column, columns, sums) takes one row of a finished tile.
template <typename Acc, typename PackA, typename PackB, typename Store>
void TiledProduct(const RunContext& context, int64_t batches, int64_t m, int64_t n, int64_t k,
                  const PackA& pack_a, const PackB& pack_b, const Store& store) {
  if (m == 0 || n == 0) return;
  const int64_t row_tiles = (m + kTileRows - 1) / kTileRows;
  const int64_t column_tiles = (n + kTileColumns - 1) / kTileColumns;
  const int64_t work = std::min(m, kTileRows) * std::min(n, kTileColumns) * (k + 1);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 17) / work);
  context.ParallelFor(batches * row_tiles * column_tiles, grain, [&](int64_t begin, int64_t end) {
    Tiles<Acc> tiles = {};
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t batch = tile / (row_tiles * column_tiles);
      const int64_t row = tile % row_tiles * kTileRows;
      const int64_t column = tile / row_tiles % column_tiles * kTileColumns;
      const int64_t rows = std::min(kTileRows, m - row);
      const int64_t columns = std::min(kTileColumns, n - column);
      std::fill_n(tiles.c, kTileRows * kTileColumns, Acc());
      for (int64_t p = 0; p < k; p += kTileDepth) {
        const int64_t depth = std::min(kTileDepth, k - p);
        pack_a(batch, row, rows, p, depth, tiles.a);
        pack_b(batch, p, depth, column, columns, tiles.b);
        MultiplyTiles(tiles, rows, columns, depth);
      }
      for (int64_t i = 0; i < rows; ++i)
        store(batch, row + i, column, columns, tiles.c + i * kTileColumns);
    }
  });
}

// Element (i, j) of `data` is data[i * row_stride + j * column_stride].
template <typename T, typename Acc>
void PackRows(const T* data, int64_t row_stride, int64_t column_stride, int64_t rows,
              int64_t columns, int64_t to_stride, Acc* to) {
  for (int64_t i = 0; i < rows; ++i, data += row_stride, to += to_stride) {
    if constexpr (std::is_same_v<T, Acc>) {
      if (column_stride == 1) {
        std::memcpy(to, data, static_cast<size_t>(columns) * sizeof(T));
        continue;
      }
    }
    if (column_stride == 1) {
      for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<Acc>(data[j]);
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<Acc>(data[j * column_stride]);
    }
  }
}

}  // namespace onward::kernels::cpu
