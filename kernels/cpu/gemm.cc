#include "kernels/cpu/gemm.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "kernels/cpu/fast_float.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMinBlockOfK = 384;
constexpr int64_t kMaxChunkRows = 240;
// Chunks that pack columns have more rows: packing takes as long as multiplying about 15 of them,
// while reading more of A from the third-level cache costs little.
constexpr int64_t kMaxRowsOfPackedColumns = 960;
constexpr int64_t kLine = 16;  // floats; packed rows begin in different sets of the cache
constexpr int64_t kWantedChunks = 24;
constexpr int64_t kMaxPanelsPerChunk = 16;
// Below, starting another thread costs more than it saves: about 5 us of multiplying or of reading.
constexpr int64_t kMinChunkProducts = 600 * 1000;
constexpr int64_t kMinChunkReads = 32 * 1024;

// Whether a chunk copies its columns of row-major B: rows far apart miss the first-level cache and
// the TLB each time a row tile comes by.
bool PackRowMajor(const GemmPlan& plan) { return plan.m >= 96 && plan.k * plan.n > 8 * 1024; }

}  // namespace

int MostRowsOfTile(int tile_rows, int64_t a_row) {
  constexpr int64_t kFloatsOfWay = 1024;  // a page, on all processors of x86
  static const int ways = [] {
    const auto told = static_cast<int>(sysconf(_SC_LEVEL1_DCACHE_ASSOC));
    return told > 0 ? told : 8;
  }();
  return a_row % kFloatsOfWay == 0 ? std::min(tile_rows, ways) : tile_rows;
}

int64_t BlockOfK(int64_t rows) {
  static const int64_t floats = [] {
    constexpr int64_t kUnknown = 1 << 20, kWord = sizeof(float);  // bytes
    const int64_t told = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (told > 0 ? told : kUnknown) / 2 / kWord;
  }();
  return std::max(kMinBlockOfK, floats / std::max<int64_t>(rows, 1));
}

absl::StatusOr<PackedMatrix> PackedMatrix::Pack(const GemmTileKernels& tiles, const float* b,
                                                int64_t stride, bool transposed, int64_t k,
                                                int64_t n, float alpha) {
  PackedMatrix packed;
  const int64_t cols = tiles.tile_cols, words = CeilDiv(k, tiles.k_per_word);
  ONWARD_ASSIGN_OR_RETURN(packed.panels_,
                          Tensor::Create(DType::kFloat32, {CeilDiv(n, cols), words, cols}));
  float* to = packed.panels_.mutable_data<float>();
  for (int64_t c = 0; c < n; c += cols, to += words * cols) {
    const int width = static_cast<int>(std::min(cols, n - c));
    if (transposed) {
      tiles.pack_columns_transposed(b + c * stride, stride, width, k, alpha, to);
    } else {
      tiles.pack_columns(b + c, stride, width, k, alpha, to);
    }
  }
  return packed;
}

absl::StatusOr<PackedMatrix> PackedMatrix::Widen(const GemmTileKernels& tiles,
                                                 const PackedMatrix& pairs, int64_t k, int64_t n) {
  PackedMatrix widened;
  const int64_t cols = tiles.tile_cols, panels = CeilDiv(n, cols);
  ONWARD_ASSIGN_OR_RETURN(widened.panels_, Tensor::Create(DType::kFloat32, {panels, k, cols}));
  float* to = widened.panels_.mutable_data<float>();
  const float* from = pairs.data();
  for (int64_t panel = 0; panel < panels; ++panel) {
    for (int64_t step = 0; step < k; step += 2, from += cols) {
      // The step in the upper half of an odd k's last word is none of K.
      for (int half = 0; half < 2 && step + half < k; ++half, to += cols) {
        for (int64_t c = 0; c < cols; ++c) {
          const uint32_t word = std::bit_cast<uint32_t>(from[c]);
          to[c] = std::bit_cast<float>(half == 0 ? word << 16 : word & 0xffff0000u);
        }
      }
    }
  }
  return widened;
}

GemmPlan PlanGemm(const GemmTileKernels& tiles, ColumnsLayout layout, int64_t m, int64_t n,
                  int64_t k, int64_t batches, bool scaled) {
  GemmPlan plan;
  plan.m = m;
  plan.n = n;
  plan.k = k;
  plan.batches = batches;
  plan.layout = layout;
  const int64_t tile_rows =
      tiles.k_per_word > 1 ? tiles.tile_rows : MostRowsOfTile(tiles.tile_rows, k);
  plan.row_tiles = CeilDiv(m, tile_rows);
  const int64_t panels = CeilDiv(n, tiles.tile_cols);
  // Pairs pack their rows of A, too, which then fit no second-level cache.
  const bool packs_for_many =
      tiles.k_per_word == 1 && layout != ColumnsLayout::kPanels && panels >= kWantedChunks;
  plan.tiles_per_chunk = EvenPiece(
      plan.row_tiles, (packs_for_many ? kMaxRowsOfPackedColumns : kMaxChunkRows) / tile_rows);
  plan.row_chunks = CeilDiv(plan.row_tiles, plan.tiles_per_chunk);
  const int64_t rows = std::min(m, plan.tiles_per_chunk * tile_rows);
  plan.k_block = EvenPiece(k, BlockOfK(rows));
  int64_t words = CeilDiv(plan.k_block, tiles.k_per_word);
  if (tiles.reads_by_row) words = CeilDiv(words, kLine) * kLine;  // whole registers
  plan.k_block = words * tiles.k_per_word;

  const int64_t panel_products = std::max<int64_t>(1, rows * tiles.tile_cols * k);
  const int64_t panel_reads = std::max<int64_t>(1, tiles.tile_cols * k);
  const int64_t least =
      std::min(CeilDiv(kMinChunkProducts, panel_products), CeilDiv(kMinChunkReads, panel_reads));
  const int64_t wanted = panels * plan.row_chunks * batches / kWantedChunks;
  plan.panels_per_chunk = EvenPiece(panels, std::max(std::min(wanted, kMaxPanelsPerChunk), least));
  plan.column_chunks = CeilDiv(panels, plan.panels_per_chunk);
  plan.grain = std::max<int64_t>(1, least / plan.panels_per_chunk);

  plan.pack_columns =
      layout == ColumnsLayout::kTransposed ||
      (layout == ColumnsLayout::kRows && (scaled || tiles.k_per_word > 1 || PackRowMajor(plan)));
  plan.scratch = plan.pack_columns ? words * tiles.tile_cols : 0;
  if (tiles.k_per_word > 1) {
    plan.row_stride = CeilDiv(words, kLine) * kLine + kLine;
    plan.packed_rows = plan.scratch;
    plan.scratch += plan.tiles_per_chunk * tile_rows * plan.row_stride;
  }
  return plan;
}

namespace {

struct Chunk {
  int64_t tile_begin, tile_end;
  int64_t panel_begin, panel_end;
};

Chunk ChunkAt(const GemmTileKernels& tiles, const GemmPlan& plan, int64_t chunk) {
  const int64_t panels = CeilDiv(plan.n, tiles.tile_cols);
  Chunk at;
  at.tile_begin = chunk / plan.column_chunks * plan.tiles_per_chunk;
  at.tile_end = std::min(plan.row_tiles, at.tile_begin + plan.tiles_per_chunk);
  at.panel_begin = chunk % plan.column_chunks * plan.panels_per_chunk;
  at.panel_end = std::min(panels, at.panel_begin + plan.panels_per_chunk);
  return at;
}

// The first row of tile `tile`; the first m % row_tiles have one row more.
int64_t RowOf(const GemmPlan& plan, int64_t tile) {
  return tile * (plan.m / plan.row_tiles) + std::min(tile, plan.m % plan.row_tiles);
}

// Points the tile at its columns of B for steps [k0, k0 + tile.k).
void SetColumns(const GemmTileKernels& tiles, const GemmPlan& plan, const GemmArguments& args,
                int64_t panel, int64_t k0, float* scratch, GemmTile& tile) {
  const int64_t width = tiles.tile_cols;
  const int64_t column = panel * width;
  tile.cols = static_cast<int>(std::min(width, plan.n - column));
  tile.b_k = width;
  tile.b_padded = true;
  const int64_t k = std::min(plan.k_block, plan.k - k0);
  if (plan.layout == ColumnsLayout::kPanels) {
    tile.b = args.b + column * CeilDiv(plan.k, tiles.k_per_word) + k0 / tiles.k_per_word * width;
  } else if (plan.layout == ColumnsLayout::kTransposed) {
    tiles.pack_columns_transposed(args.b + column * args.b_stride + k0, args.b_stride, tile.cols, k,
                                  args.alpha, scratch);
    tile.b = scratch;
  } else if (plan.pack_columns) {
    tiles.pack_columns(args.b + k0 * args.b_stride + column, args.b_stride, tile.cols, k,
                       args.alpha, scratch);
    tile.b = scratch;
  } else {
    tile.b = args.b + k0 * args.b_stride + column;
    tile.b_k = args.b_stride;
    tile.b_padded = false;
  }
}

// A of the chunk's rows and one block of K, as the tiles read it: that of row r begins at
// a + r * row.
struct Rows {
  const float* a;
  int64_t row;
};

Rows RowsOfBlock(const GemmTileKernels& tiles, const GemmPlan& plan, const GemmArguments& args,
                 int64_t begin, int64_t end, int64_t k0, float* scratch, GemmTile& tile) {
  const float* a = args.a + begin * args.a_row + k0 * args.a_k;
  if (plan.row_stride == 0) return {a, args.a_row};
  const int64_t k = std::min(plan.k_block, plan.k - k0);
  float* packed = scratch + plan.packed_rows;
  if (args.a_k == 1) {
    tiles.pack_pairs_of_rows(a, args.a_row, end - begin, k, plan.row_stride, packed);
    tile.a_row = plan.row_stride;
    tile.a_k = 1;
  } else {
    tiles.pack_pairs_of_columns(a, args.a_k, end - begin, k, plan.row_stride, packed);
    const PairsOrder order = tiles.OrderOfColumns(end - begin, plan.row_stride);
    tile.a_row = order.row;
    tile.a_k = order.step;
  }
  return {packed, tile.a_row};
}

}  // namespace

GemmChunk GemmChunkAt(const GemmTileKernels& tiles, const GemmPlan& plan, int64_t chunk) {
  const Chunk at = ChunkAt(tiles, plan, chunk);
  return {RowOf(plan, at.tile_begin), RowOf(plan, at.tile_end), at.panel_begin * tiles.tile_cols,
          std::min(plan.n, at.panel_end * tiles.tile_cols)};
}

void RunGemmChunk(const GemmTileKernels& tiles, const GemmPlan& plan, const GemmArguments& args,
                  int64_t chunk, float* scratch) {
  const Chunk at = ChunkAt(tiles, plan, chunk);
  const int64_t rows_per_tile = plan.m / plan.row_tiles, longer = plan.m % plan.row_tiles;
  const int64_t begin = RowOf(plan, at.tile_begin);
  GemmTile tile;
  tile.a_row = args.a_row;
  tile.a_k = args.a_k;
  tile.c_row = args.c_row;
  tile.residual_row = args.residual_row;
  const int64_t panels = CeilDiv(plan.n, tiles.tile_cols);
  const KeepTiles keep(tiles);
  int64_t k0 = 0;
  do {  // once even for k = 0
    tile.k = CeilDiv(std::min(plan.k_block, plan.k - k0), tiles.k_per_word);
    tile.accumulate = k0 > 0;
    if (k0 + plan.k_block >= plan.k) tile.activation = args.activation;
    const Rows rows =
        RowsOfBlock(tiles, plan, args, begin, RowOf(plan, at.tile_end), k0, scratch, tile);
    for (int64_t panel = at.panel_begin; panel < at.panel_end; ++panel) {
      SetColumns(tiles, plan, args, panel, k0, scratch, tile);
      const int64_t column = panel * tiles.tile_cols;
      // Panels lie one after another, each with all of K.
      const float* next_panel = plan.layout == ColumnsLayout::kPanels && panel + 1 < panels
                                    ? tile.b + CeilDiv(plan.k, tiles.k_per_word) * tiles.tile_cols
                                    : nullptr;
      if (args.bias_of_column != nullptr) tile.bias_of_column = args.bias_of_column + column;
      for (int64_t i = at.tile_begin; i < at.tile_end; ++i) {
        const int64_t row = i * rows_per_tile + std::min(i, longer);
        tile.rows = static_cast<int>(rows_per_tile + (i < longer ? 1 : 0));
        tile.a = rows.a + (row - begin) * rows.row;
        tile.fetch.TakePart(next_panel, tile.k * tiles.tile_cols, i - at.tile_begin,
                            at.tile_end - at.tile_begin, tile.k);
        tile.c = args.c + row * args.c_row + column;
        if (args.bias_of_row != nullptr) tile.bias_of_row = args.bias_of_row + row;
        if (args.residual != nullptr)
          tile.residual = args.residual + row * args.residual_row + column;
        if (i + 1 < at.tile_end)
          FetchRows(tile.c + tile.rows * args.c_row, args.c_row, rows_per_tile, tile.cols);
        tiles.tile(tile);
      }
    }
    k0 += plan.k_block;
  } while (k0 < plan.k);
}

}  // namespace onward::kernels::cpu
