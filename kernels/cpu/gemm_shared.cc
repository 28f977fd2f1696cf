#include "kernels/cpu/gemm_shared.h"

#include <algorithm>

#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMinRows = 64;
constexpr int64_t kMinProducts = 8 * 1000 * 1000;
constexpr int64_t kMaxBlockOfK = 1024;
constexpr int64_t kGroupParts = 4;
constexpr int64_t kMaxGroupRows = 240;   // rows of a block of K: half the second-level cache
constexpr int64_t kMaxBlockRows = 1920;  // of either operand: bounds the scratch
constexpr int64_t kLine = 16;            // floats; packed rows begin in different sets of the cache
constexpr int64_t kPackedSteps = 16;     // of row-major B that are packed for several panels
constexpr int64_t kPackGrain = 16 * 1024;  // floats: about 5 us
constexpr int64_t kMinChunkProducts = 1200 * 1000;

// One block of K, of rows and of panels.
struct Block {
  int64_t k0, k;
  int64_t group_begin, group_end;
  int64_t panel_begin, panel_end;
};

class SharedProduct {
 public:
  SharedProduct(const GemmTileKernels& tiles, const SharedPlan& plan, const GemmArguments& args,
                float* scratch)
      : tiles_(tiles),
        plan_(plan),
        args_(args),
        rows_(scratch),
        panels_(scratch + plan.packed_panels) {}

  // Part `part` in [0, kGroupParts) of a group's rows, or of their steps where rows lie side by
  // side.
  void PackGroup(const Block& at, int64_t group, int64_t part) const {
    const int64_t first = RowOf(group * plan_.tiles_per_group), rows = GroupEnd(group) - first;
    const float* a = args_.a + first * args_.a_row + at.k0 * args_.a_k;
    float* to = GroupAt(at, group);
    const auto cut = [&](int64_t count) { return count * part / kGroupParts; };
    const auto cut_end = [&](int64_t count) { return count * (part + 1) / kGroupParts; };
    if (tiles_.k_per_word == 1) {
      PackSteps(at, group, cut(at.k), cut_end(at.k));
    } else if (args_.a_k == 1) {
      const int64_t begin = cut(rows);
      tiles_.pack_pairs_of_rows(a + begin * args_.a_row, args_.a_row, cut_end(rows) - begin, at.k,
                                plan_.row_stride, to + begin * plan_.row_stride);
    } else {
      const int64_t words = CeilDiv(at.k, 2), begin = cut(words);
      tiles_.pack_pairs_of_columns(a + 2 * begin * args_.a_k, args_.a_k, rows,
                                   std::min(at.k, 2 * cut_end(words)) - 2 * begin, plan_.row_stride,
                                   to + begin * OrderOf(rows).step);
    }
  }

  void PackPanels(const Block& at, int64_t begin, int64_t end) const {
    const int64_t width = tiles_.tile_cols;
    if (plan_.layout == ColumnsLayout::kTransposed) {
      for (int64_t panel = begin; panel < end; ++panel) {
        tiles_.pack_columns_transposed(args_.b + panel * width * args_.b_stride + at.k0,
                                       args_.b_stride, ColumnsOf(panel), at.k, args_.alpha,
                                       PanelAt(at, panel));
      }
      return;
    }
    // Some steps of all panels before the next ones: they lie side by side.
    for (int64_t i = 0; i < at.k; i += kPackedSteps) {
      const int64_t steps = std::min(kPackedSteps, at.k - i);
      const float* row = args_.b + (at.k0 + i) * args_.b_stride;
      for (int64_t panel = begin; panel < end; ++panel) {
        tiles_.pack_columns(row + panel * width, args_.b_stride, ColumnsOf(panel), steps,
                            args_.alpha, PanelAt(at, panel) + i / tiles_.k_per_word * width);
      }
    }
  }

  void Multiply(const Block& at, int64_t group, int64_t panel_begin, int64_t panel_end) const {
    const int64_t first = group * plan_.tiles_per_group;
    const int64_t last = std::min(plan_.row_tiles, first + plan_.tiles_per_group);
    GemmTile tile;
    tile.k = CeilDiv(at.k, tiles_.k_per_word);
    tile.b_k = tiles_.tile_cols;
    tile.b_padded = true;
    tile.c_row = args_.c_row;
    tile.residual_row = args_.residual_row;
    tile.accumulate = at.k0 > 0;
    if (at.k0 + at.k == plan_.k) tile.activation = args_.activation;
    const KeepTiles keep(tiles_);
    for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
      const int64_t column = panel * tiles_.tile_cols;
      tile.cols = ColumnsOf(panel);
      tile.b = PanelAt(at, panel);
      const float* next = NextPanel(at, panel);
      if (args_.bias_of_column != nullptr) tile.bias_of_column = args_.bias_of_column + column;
      for (int64_t i = first; i < last; ++i) {
        const int64_t row = RowOf(i);
        tile.rows = static_cast<int>(RowOf(i + 1) - row);
        SetRows(at, group, row, tile);
        tile.fetch.TakePart(next, tile.k * tile.b_k, i - first, last - first, tile.k);
        tile.c = args_.c + row * args_.c_row + column;
        if (args_.bias_of_row != nullptr) tile.bias_of_row = args_.bias_of_row + row;
        if (args_.residual != nullptr)
          tile.residual = args_.residual + row * args_.residual_row + column;
        if (i + 1 < last)
          FetchRows(tile.c + tile.rows * args_.c_row, args_.c_row, RowOf(i + 2) - RowOf(i + 1),
                    tile.cols);
        tiles_.tile(tile);
      }
    }
  }

 private:
  // Steps [begin, end) of the block of A's rows that lie side by side: a tile's, step after step.
  void PackSteps(const Block& at, int64_t group, int64_t begin, int64_t end) const {
    const int64_t first = group * plan_.tiles_per_group, first_row = RowOf(first);
    const int64_t last = std::min(plan_.row_tiles, first + plan_.tiles_per_group);
    for (int64_t step = begin; step < end; ++step) {
      const float* from = args_.a + (at.k0 + step) * args_.a_k + first_row;
      for (int64_t i = first; i < last; ++i) {
        const int64_t row = RowOf(i) - first_row, rows = RowOf(i + 1) - RowOf(i);
        std::copy_n(from + row, rows, GroupAt(at, group) + row * plan_.row_stride + step * rows);
      }
    }
  }

  // Points the tile at its rows of A, the first of which is `row`.
  void SetRows(const Block& at, int64_t group, int64_t row, GemmTile& tile) const {
    if (!plan_.packs_rows) {
      tile.a = args_.a + row * args_.a_row + at.k0 * args_.a_k;
      tile.a_row = args_.a_row;
      tile.a_k = args_.a_k;
      return;
    }
    const int64_t begin = RowOf(group * plan_.tiles_per_group);
    const PairsOrder order =
        tiles_.k_per_word == 1 ? PairsOrder{1, tile.rows} : OrderOf(GroupEnd(group) - begin);
    const int64_t between = tiles_.k_per_word == 1 ? plan_.row_stride : order.row;
    tile.a = GroupAt(at, group) + (row - begin) * between;
    tile.a_row = order.row;
    tile.a_k = order.step;
  }

  // The panel that is likely read after `panel`, where it does not lie in a cache that is near.
  const float* NextPanel(const Block& at, int64_t panel) const {
    const bool is_far = plan_.layout == ColumnsLayout::kPanels
                            ? (panel + 1) * tiles_.tile_cols < plan_.n
                            : tiles_.k_per_word == 1 && panel + 1 < at.panel_end;
    return is_far ? PanelAt(at, panel + 1) : nullptr;
  }

  // The order of the words in a packed group of pairs.
  PairsOrder OrderOf(int64_t rows) const {
    return args_.a_k == 1 ? PairsOrder{plan_.row_stride, 1}
                          : tiles_.OrderOfColumns(rows, plan_.row_stride);
  }
  int64_t RowOf(int64_t tile) const {
    return tile * (plan_.m / plan_.row_tiles) + std::min(tile, plan_.m % plan_.row_tiles);
  }
  int64_t GroupEnd(int64_t group) const {
    return RowOf(std::min(plan_.row_tiles, (group + 1) * plan_.tiles_per_group));
  }
  int ColumnsOf(int64_t panel) const {
    return static_cast<int>(
        std::min<int64_t>(tiles_.tile_cols, plan_.n - panel * tiles_.tile_cols));
  }
  float* GroupAt(const Block& at, int64_t group) const {
    return rows_ +
           (group - at.group_begin) * plan_.tiles_per_group * tiles_.tile_rows * plan_.row_stride;
  }
  float* PanelAt(const Block& at, int64_t panel) const {
    if (plan_.layout == ColumnsLayout::kPanels) {
      const int64_t words = CeilDiv(plan_.k, tiles_.k_per_word);
      // Only read.
      return const_cast<float*>(args_.b) +
             (panel * words + at.k0 / tiles_.k_per_word) * tiles_.tile_cols;
    }
    return panels_ +
           (panel - at.panel_begin) * (plan_.k_block / tiles_.k_per_word) * tiles_.tile_cols;
  }

  const GemmTileKernels& tiles_;
  const SharedPlan& plan_;
  const GemmArguments& args_;
  float* rows_;
  float* panels_;
};

void MultiplyBlock(const SharedPlan& plan, const SharedProduct& product, const Block& at,
                   const RunContext& context) {
  const int64_t per_group = CeilDiv(at.panel_end - at.panel_begin, plan.panels_per_chunk);
  context.ParallelFor(
      (at.group_end - at.group_begin) * per_group, 1, [&](int64_t begin, int64_t end) {
        for (int64_t chunk = begin; chunk < end; ++chunk) {
          const int64_t panel = at.panel_begin + chunk % per_group * plan.panels_per_chunk;
          product.Multiply(at, at.group_begin + chunk / per_group, panel,
                           std::min(at.panel_end, panel + plan.panels_per_chunk));
        }
      });
}

}  // namespace

bool PacksOnce(const GemmTileKernels& tiles, ColumnsLayout layout, bool a_transposed, int64_t m,
               int64_t n, int64_t k) {
  if (tiles.k_per_word == 1 && layout == ColumnsLayout::kPanels && !a_transposed) return false;
  return m >= kMinRows && k > 0 && m * n >= kMinProducts / k;
}

SharedPlan PlanShared(const GemmTileKernels& tiles, ColumnsLayout layout, bool a_transposed,
                      int64_t m, int64_t n, int64_t k) {
  const bool pairs = tiles.k_per_word > 1;
  SharedPlan plan;
  plan.m = m, plan.n = n, plan.k = k;
  plan.layout = layout;
  plan.packs_rows = pairs || a_transposed;
  const int tile_rows = plan.packs_rows ? tiles.tile_rows : MostRowsOfTile(tiles.tile_rows, k);
  plan.row_tiles = CeilDiv(m, tile_rows);
  plan.tiles_per_group = EvenPiece(plan.row_tiles, kMaxGroupRows / tile_rows);
  plan.groups = CeilDiv(plan.row_tiles, plan.tiles_per_group);
  plan.panels = CeilDiv(n, tiles.tile_cols);
  const int64_t group_rows = plan.tiles_per_group * tile_rows;
  plan.k_block = pairs ? CeilDiv(EvenPiece(k, kMaxBlockOfK), 2 * kLine) * 2 * kLine
                       : EvenPiece(k, BlockOfK(std::min(m, group_rows)));
  const int64_t words = plan.k_block / tiles.k_per_word;
  plan.row_stride = pairs ? words + kLine : words;
  plan.groups_per_block = EvenPiece(plan.groups, std::max<int64_t>(1, kMaxBlockRows / group_rows));
  plan.panels_per_block = EvenPiece(plan.panels, kMaxBlockRows / tiles.tile_cols);
  plan.panels_per_chunk =
      EvenPiece(plan.panels_per_block,
                CeilDiv(kMinChunkProducts, group_rows * tiles.tile_cols * plan.k_block));
  if (plan.packs_rows) plan.packed_panels = plan.groups_per_block * group_rows * plan.row_stride;
  plan.scratch = plan.packed_panels;
  if (layout != ColumnsLayout::kPanels)
    plan.scratch += plan.panels_per_block * words * tiles.tile_cols;
  return plan;
}

void RunShared(const GemmTileKernels& tiles, const SharedPlan& plan, const GemmArguments& args,
               float* scratch, const RunContext& context) {
  const SharedProduct product(tiles, plan, args, scratch);
  Block at;
  for (at.k0 = 0; at.k0 < plan.k; at.k0 += plan.k_block) {
    at.k = std::min(plan.k_block, plan.k - at.k0);
    const int64_t panel_grain = CeilDiv(kPackGrain, at.k * tiles.tile_cols);
    for (at.group_begin = 0; at.group_begin < plan.groups; at.group_begin = at.group_end) {
      at.group_end = std::min(plan.groups, at.group_begin + plan.groups_per_block);
      if (plan.packs_rows) {
        context.ParallelFor(
            (at.group_end - at.group_begin) * kGroupParts, 1, [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                product.PackGroup(at, at.group_begin + i / kGroupParts, i % kGroupParts);
              }
            });
      }
      for (at.panel_begin = 0; at.panel_begin < plan.panels; at.panel_begin = at.panel_end) {
        at.panel_end = std::min(plan.panels, at.panel_begin + plan.panels_per_block);
        if (plan.layout != ColumnsLayout::kPanels) {
          context.ParallelFor(at.panel_end - at.panel_begin, std::max<int64_t>(4, panel_grain),
                              [&](int64_t begin, int64_t end) {
                                product.PackPanels(at, at.panel_begin + begin,
                                                   at.panel_begin + end);
                              });
        }
        MultiplyBlock(plan, product, at, context);
      }
    }
  }
}

}  // namespace onward::kernels::cpu
