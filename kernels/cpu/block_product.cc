#include "kernels/cpu/block_product.h"

#include <algorithm>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kLine = 16;  // words; packed rows begin in different sets of the cache

int64_t RowWords(const GemmTileKernels& tiles, int64_t k) {
  return CeilDiv(CeilDiv(k, tiles.k_per_word), kLine) * kLine + kLine;
}

}  // namespace

int64_t BlockPanelsSize(const GemmTileKernels& tiles, int64_t k, int64_t n) {
  return CeilDiv(n, tiles.tile_cols) * CeilDiv(k, tiles.k_per_word) * tiles.tile_cols;
}

BlockPanels PackBlockPanels(const GemmTileKernels& tiles, const float* b, int64_t stride,
                            bool transposed, int64_t k, int64_t n, float* to) {
  const int64_t width = tiles.tile_cols;
  const BlockPanels panels = {to, CeilDiv(k, tiles.k_per_word)};
  for (int64_t column = 0; column < n; column += width, to += panels.words * width) {
    const int cols = static_cast<int>(std::min(width, n - column));
    if (transposed) {
      tiles.pack_columns_transposed(b + column * stride, stride, cols, k, 1.0f, to);
    } else {
      tiles.pack_columns(b + column, stride, cols, k, 1.0f, to);
    }
  }
  return panels;
}

int64_t BlockRowsSize(const GemmTileKernels& tiles, int64_t rows, int64_t k) {
  return tiles.k_per_word == 1 ? 0 : rows * RowWords(tiles, k);
}

BlockRows PairRowsAt(const GemmTileKernels& tiles, int64_t k, float* to) {
  return {to, RowWords(tiles, k), 1};
}

BlockRows PackBlockRows(const GemmTileKernels& tiles, const float* a, int64_t stride,
                        bool transposed, int64_t rows, int64_t k, float* to) {
  if (tiles.k_per_word == 1) {
    return transposed ? BlockRows{a, 1, stride} : BlockRows{a, stride, 1};
  }
  if (transposed) {
    tiles.pack_pairs_of_columns(a, stride, rows, k, RowWords(tiles, k), to);
    const PairsOrder order = tiles.OrderOfColumns(rows, RowWords(tiles, k));
    return {to, order.row, order.step};
  }
  tiles.pack_pairs_of_rows(a, stride, rows, k, RowWords(tiles, k), to);
  return {to, RowWords(tiles, k), 1};
}

void Multiply(const GemmTileKernels& tiles, const BlockProduct& product,
              absl::FunctionRef<BlockWindow(int64_t, int64_t)> window) {
  const int64_t row_tiles = CeilDiv(product.m, MostRowsOfTile(tiles.tile_rows, product.a.row));
  const int64_t width = tiles.tile_cols;
  const int64_t panels = CeilDiv(product.n, width);
  // What is small stays in the first-level cache while the other one passes by.
  const bool rows_outside = product.m > product.n;
  const int64_t inside = rows_outside ? panels : row_tiles;
  GemmTile tile;
  tile.a_row = product.a.row;
  tile.a_k = product.a.step;
  tile.b_k = width;
  tile.b_padded = true;
  tile.c_row = product.c_row;
  tile.accumulate = product.accumulate;
  const KeepTiles keep(tiles);
  for (int64_t i = 0; i < row_tiles * panels; ++i) {
    const int64_t t = rows_outside ? i / inside : i % inside;
    const int64_t column = (rows_outside ? i % inside : i / inside) * width;
    const int64_t begin = product.m * t / row_tiles, end = product.m * (t + 1) / row_tiles;
    const BlockWindow needed = window(begin, end);
    if (column >= needed.column_end || column + width <= needed.column_begin) continue;
    const int64_t word = needed.step_begin / tiles.k_per_word;
    tile.k = std::max<int64_t>(0, CeilDiv(needed.step_end, tiles.k_per_word) - word);
    if (tile.k == 0 && tile.accumulate) continue;
    tile.rows = static_cast<int>(end - begin);
    tile.cols = static_cast<int>(std::min(width, product.n - column));
    tile.a = product.a.data + begin * product.a.row + word * product.a.step;
    tile.b = product.b.data + column * product.b.words + word * width;
    tile.c = product.c + begin * product.c_row + column;
    tiles.tile(tile);
  }
}

}  // namespace onward::kernels::cpu
