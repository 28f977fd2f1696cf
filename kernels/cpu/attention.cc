// Attention in float32: blocks of query rows that share their keys, scores of one block at a time.
// Few rows (decoding) read keys and values as they lie; many pack them for the tiles of products,
// which may be those of pairs of bfloat16.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/block_product.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {
namespace {

// Products that one thread takes at a time at least: about 10 us.
constexpr int64_t kGrain = 256 * 1024;
constexpr int64_t kFewRows = 6;
constexpr int64_t kPackedRows = 24;          // from here on packing pays
constexpr int64_t kBlockFloats = 96 * 1024;  // scores of a block: they stay in the caches
constexpr int64_t kWantedBlocks = 8;
constexpr int64_t kLine = 16;  // floats; rows of scores begin in different sets of the cache

struct AttentionState {
  AttentionGeometry g;
  bool heads_are_rows;  // one query position: the rows of a block are the heads of a group
  int64_t block_rows;   // at most
  int64_t blocks;       // per head, or per key/value head when heads are rows
  int64_t score_row;
  // Where in a worker's scratch packed operands begin, in floats.
  int64_t panels, k_panels, v_panels, rows;
  int64_t scratch;  // floats per worker
  // Several blocks have the keys of a head: a worker packs all of them once. `kept` is the place of
  // the head that it has packed, an int64.
  bool keeps_panels;
  int64_t kept;
};

// Where keys and values of one head lie.
struct KeyValues {
  const float* k;
  const float* v;
  int64_t k_row, v_row;
};

// Rows [0, rows) of one block; row r is query `query(r)` of head `head(r)`.
struct Block {
  int64_t batch, first_head, first_query, rows;
  const float* q;
  float* y;
  int64_t q_row, y_row;
  float* scores;  // [rows][score_row]
  float *panels, *packed_panels, *packed_rows;
  BlockPanels k_panels, v_panels;  // of all keys, where the worker keeps them
  BlockKeys keys;
};

class Attention : public Kernel {
 public:
  Attention(const AttentionAttributes& attributes, const NodeSpec& spec,
            const GemmTileKernels& tiles)
      : attributes_(attributes),
        packed_tiles_(tiles),
        tiles_(kGemmTilesPerTarget.For(tiles.target)()),
        rows_(attributes, spec, 3, 6, tiles.target) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttention(attributes_, context));
    auto* s = context.NewState<AttentionState>();
    s->g = g;
    s->heads_are_rows = g.q_len == 1;
    const int64_t rows = s->heads_are_rows ? g.group() : g.q_len;
    s->score_row = CeilDiv(g.total_len(), kLine) * kLine + kLine;
    const int64_t height = tiles_.tile_rows;
    const int64_t wanted = CeilDiv(g.batch * g.q_heads * g.q_len, kWantedBlocks * height);
    const int64_t most = std::clamp<int64_t>(std::min(wanted, kBlockFloats / s->score_row / height),
                                             4, BlockKeys::kMostRows / height) *
                         height;
    s->block_rows = std::min(rows, CeilDiv(EvenPiece(rows, most), height) * height);
    s->blocks = rows == 0 ? 0 : CeilDiv(rows, s->block_rows);
    SetScratch(*s, context);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<AttentionState>();
    const AttentionGeometry& g = s.g;
    ONWARD_RETURN_IF_ERROR(rows_.CheckNonpad(context, g));
    if (context.has_output(1)) {
      Append(context, g, 1, 4, 1, g.k_batch, g.k_head, g.k_row, g.head_size);
    }
    if (context.has_output(2)) {
      Append(context, g, 2, 5, 2, g.v_batch, g.v_head, g.v_row, g.v_head_size);
    }
    const int64_t heads = g.batch * (s.heads_are_rows ? g.kv_heads : g.q_heads);
    const int64_t work =
        std::max<int64_t>(1, s.block_rows * g.total_len() * (g.head_size + g.v_head_size));
    const int workers = context.pool() == nullptr ? 1 : context.pool()->num_threads();
    for (int i = 0; s.keeps_panels && i < workers; ++i)
      Kept(s, context.scratch<float>() + i * s.scratch) = -1;
    context.ParallelForWorkers(heads * s.blocks, std::max<int64_t>(1, kGrain / work),
                               [&](int worker, int64_t begin, int64_t end) {
                                 float* scratch = context.scratch<float>() + worker * s.scratch;
                                 for (int64_t i = begin; i < end; ++i)
                                   RunBlock(context, s, i / s.blocks, i % s.blocks * s.block_rows,
                                            scratch);
                               });
    return absl::OkStatus();
  }

 private:
  // present = past then new, per head.
  static void Append(const RunContext& context, const AttentionGeometry& g, int fresh, int past,
                     int present, int64_t batch_stride, int64_t head_stride, int64_t row_stride,
                     int64_t size) {
    const int64_t grain = std::max<int64_t>(1, 2 * 32 * 1024 / (g.total_len() * size + 1));
    const int64_t old_size = g.past_len * size;
    context.ParallelFor(g.batch * g.kv_heads, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* to = context.out<float>(present) + i * g.total_len() * size;
        if (old_size > 0) std::copy_n(context.in<float>(past) + i * old_size, old_size, to);
        const float* from =
            context.in<float>(fresh) + i / g.kv_heads * batch_stride + i % g.kv_heads * head_stride;
        for (int64_t j = 0; j < g.new_len; ++j)
          std::copy_n(from + j * row_stride, size, to + old_size + j * size);
      }
    });
  }

  static KeyValues KeysOf(const RunContext& context, const AttentionGeometry& g, int64_t batch,
                          int64_t head) {
    const int64_t present = (batch * g.kv_heads + head) * g.total_len();
    KeyValues kv;
    if (context.has_output(1)) {
      kv.k = context.out<float>(1) + present * g.head_size;
      kv.k_row = g.head_size;
    } else {
      kv.k = context.in<float>(1) + batch * g.k_batch + head * g.k_head;
      kv.k_row = g.k_row;
    }
    if (context.has_output(2)) {
      kv.v = context.out<float>(2) + present * g.v_head_size;
      kv.v_row = g.v_head_size;
    } else {
      kv.v = context.in<float>(2) + batch * g.v_batch + head * g.v_head;
      kv.v_row = g.v_row;
    }
    return kv;
  }

  bool Packs(const AttentionState& s, int64_t rows) const {
    return !s.heads_are_rows && rows >= kPackedRows;
  }

  void SetScratch(AttentionState& s, BindContext& context) const {
    const AttentionGeometry& g = s.g;
    const int64_t keys = g.total_len();
    s.panels = s.block_rows * s.score_row;
    s.kept = s.panels + tiles_.tile_cols * g.head_size;
    s.scratch = s.kept;
    s.keeps_panels = Packs(s, s.block_rows) && s.blocks * g.group() > 1;
    if (Packs(s, s.block_rows)) {
      // The last block may have too few rows for that.
      const int64_t k_size = BlockPanelsSize(packed_tiles_, g.head_size, keys);
      const int64_t v_size = BlockPanelsSize(packed_tiles_, keys, g.v_head_size);
      s.k_panels = s.kept + kLine;
      s.v_panels = s.k_panels + (s.keeps_panels ? k_size : 0);
      s.rows = s.v_panels + (s.keeps_panels ? v_size : std::max(k_size, v_size));
      s.scratch = s.rows + std::max(BlockRowsSize(packed_tiles_, s.block_rows, g.head_size),
                                    BlockRowsSize(packed_tiles_, s.block_rows, keys));
    }
    context.SetScratch(context.num_workers() * s.scratch * static_cast<int64_t>(sizeof(float)));
  }

  // `head` counts heads over all batches; the block begins at row `first` of it.
  void RunBlock(const RunContext& context, const AttentionState& s, int64_t head, int64_t first,
                float* scratch) const {
    const AttentionGeometry& g = s.g;
    Block b;
    int64_t kv_head;
    if (s.heads_are_rows) {
      b.batch = head / g.kv_heads;
      kv_head = head % g.kv_heads;
      b.first_head = kv_head * g.group() + first;
      b.first_query = 0;
      b.rows = std::min(s.block_rows, g.group() - first);
      b.q_row = g.q_head, b.y_row = g.y_head;
    } else {
      b.batch = head / g.q_heads;
      b.first_head = head % g.q_heads;
      kv_head = b.first_head / g.group();
      b.first_query = first;
      b.rows = std::min(s.block_rows, g.q_len - first);
      b.q_row = g.q_row, b.y_row = g.y_row;
    }
    b.q = context.in<float>(0) + b.batch * g.q_batch + b.first_head * g.q_head +
          b.first_query * g.q_row;
    b.y = context.out<float>(0) + b.batch * g.y_batch + b.first_head * g.y_head +
          b.first_query * g.y_row;
    b.scores = scratch;
    b.panels = scratch + s.panels;
    b.packed_panels = scratch + s.v_panels, b.packed_rows = scratch + s.rows;
    const bool packs = Packs(s, b.rows);
    b.keys = rows_.KeysOfBlock(context, g, b.batch, b.first_query, s.heads_are_rows ? 1 : b.rows,
                               packs ? packed_tiles_.tile_cols : 1);
    const KeyValues kv = KeysOf(context, g, b.batch, kv_head);
    if (packs && s.keeps_panels) KeepPanels(s, kv, b.batch * g.kv_heads + kv_head, scratch, b);
    if (packs) {
      PackedScores(s, b, kv);
    } else {
      Scores(s, b, kv);
    }
    if (packs && packed_tiles_.k_per_word == 2) return CombinePairs(context, s, b, kv);
    for (int64_t r = 0; r < b.rows; ++r) {
      rows_.Softmax(context, g, b.batch, b.first_head + (s.heads_are_rows ? r : 0),
                    b.first_query + (s.heads_are_rows ? 0 : r), b.keys.all,
                    b.scores + r * s.score_row);
    }
    if (packs) {
      const BlockRows p = PackBlockRows(packed_tiles_, b.scores + b.keys.all.begin, s.score_row,
                                        false, b.rows, b.keys.count(), b.packed_rows);
      PackedCombine(s, b, kv, p);
    } else {
      Combine(s, b, kv);
    }
  }

  static int64_t& Kept(const AttentionState& s, float* scratch) {
    return *reinterpret_cast<int64_t*>(scratch + s.kept);
  }

  void KeepPanels(const AttentionState& s, const KeyValues& kv, int64_t head, float* scratch,
                  Block& b) const {
    const AttentionGeometry& g = s.g;
    float *k = scratch + s.k_panels, *v = scratch + s.v_panels;
    if (int64_t& kept = Kept(s, scratch); kept != head) {
      PackBlockPanels(packed_tiles_, kv.k, kv.k_row, true, g.head_size, g.total_len(), k);
      PackBlockPanels(packed_tiles_, kv.v, kv.v_row, false, g.total_len(), g.v_head_size, v);
      kept = head;
    }
    b.k_panels = {k, CeilDiv(g.head_size, packed_tiles_.k_per_word)};
    b.v_panels = {v, CeilDiv(g.total_len(), packed_tiles_.k_per_word)};
  }

  void PackedScores(const AttentionState& s, const Block& b, const KeyValues& kv) const {
    const int64_t size = s.g.head_size;
    BlockProduct product = {b.rows, b.keys.count(), size};
    product.a = PackBlockRows(packed_tiles_, b.q, b.q_row, false, b.rows, size, b.packed_rows);
    product.b = b.k_panels.data != nullptr
                    ? b.k_panels.FromColumn(b.keys.all.begin)
                    : PackBlockPanels(packed_tiles_, kv.k + b.keys.all.begin * kv.k_row, kv.k_row,
                                      true, size, product.n, b.packed_panels);
    product.c = b.scores + b.keys.all.begin, product.c_row = s.score_row;
    Multiply(packed_tiles_, product, [&](int64_t begin, int64_t end) {
      const KeyRange keys = b.keys.Of(begin, end);
      return BlockWindow{keys.begin, keys.end, 0, size};
    });
  }

  // Probabilities go to pairs as they are computed; their sums divide Y.
  void CombinePairs(const RunContext& context, const AttentionState& s, const Block& b,
                    const KeyValues& kv) const {
    const BlockRows p = PairRowsAt(packed_tiles_, b.keys.count(), b.packed_rows);
    float factors[BlockKeys::kMostRows];
    for (int64_t r = 0; r < b.rows; ++r) {
      factors[r] = rows_.Exponentials(context, s.g, b.batch, b.first_head, b.first_query + r,
                                      b.keys.all, b.scores + r * s.score_row,
                                      reinterpret_cast<uint16_t*>(b.packed_rows + r * p.row));
    }
    PackedCombine(s, b, kv, p);
    for (int64_t r = 0; r < b.rows; ++r) {
      float* y = b.y + r * b.y_row;
      for (int64_t i = 0; i < s.g.v_head_size; ++i) y[i] *= factors[r];
    }
  }

  void PackedCombine(const AttentionState& s, const Block& b, const KeyValues& kv,
                     const BlockRows& probabilities) const {
    const int64_t size = s.g.v_head_size;
    BlockProduct product = {b.rows, size, b.keys.count()};
    product.a = probabilities;
    product.b = b.v_panels.data != nullptr
                    ? b.v_panels.FromStep(packed_tiles_, b.keys.all.begin)
                    : PackBlockPanels(packed_tiles_, kv.v + b.keys.all.begin * kv.v_row, kv.v_row,
                                      false, product.k, size, b.packed_panels);
    product.c = b.y, product.c_row = b.y_row;
    Multiply(packed_tiles_, product, [&](int64_t begin, int64_t end) {
      const KeyRange keys = b.keys.Of(begin, end);
      return BlockWindow{0, size, keys.begin, keys.end};
    });
  }

  void Scores(const AttentionState& s, const Block& b, const KeyValues& kv) const {
    const AttentionGeometry& g = s.g;
    const int64_t first = b.keys.all.begin;
    if (b.rows < kFewRows) {
      for (int64_t r = 0; r < b.rows; ++r) {
        rows_.kernels().dots(b.q + r * b.q_row, kv.k + first * kv.k_row, kv.k_row, b.keys.count(),
                             g.head_size, b.scores + r * s.score_row + first);
      }
      return;
    }
    GemmTile tile;
    tile.k = g.head_size;
    tile.a_row = b.q_row;
    tile.a_k = 1;
    tile.b = b.panels;
    tile.b_k = tiles_.tile_cols;
    tile.b_padded = true;
    tile.c_row = s.score_row;
    const int64_t most_rows = MostRowsOfTile(tiles_.tile_rows, b.q_row);
    for (int64_t key = first; key < b.keys.all.end; key += tiles_.tile_cols) {
      tile.cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, b.keys.all.end - key));
      tiles_.pack_columns_transposed(kv.k + key * kv.k_row, kv.k_row, tile.cols, g.head_size, 1.0f,
                                     b.panels);
      for (int64_t r = 0; r < b.rows; r += most_rows) {
        tile.rows = static_cast<int>(std::min(most_rows, b.rows - r));
        tile.a = b.q + r * b.q_row;
        tile.c = b.scores + r * s.score_row + key;
        tiles_.tile(tile);
      }
    }
  }

  // Y = P V
  void Combine(const AttentionState& s, const Block& b, const KeyValues& kv) const {
    const AttentionGeometry& g = s.g;
    const int64_t first = b.keys.all.begin;
    GemmTile tile;
    tile.k = b.keys.count();
    tile.a_row = s.score_row;
    tile.a_k = 1;
    tile.b_k = kv.v_row;
    tile.c_row = b.y_row;
    for (int64_t column = 0; column < g.v_head_size; column += tiles_.tile_cols) {
      tile.cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, g.v_head_size - column));
      tile.b = kv.v + first * kv.v_row + column;
      for (int64_t r = 0; r < b.rows; r += tiles_.tile_rows) {
        tile.rows = static_cast<int>(std::min<int64_t>(tiles_.tile_rows, b.rows - r));
        tile.a = b.scores + r * s.score_row + first;
        tile.c = b.y + r * b.y_row + column;
        tiles_.tile(tile);
      }
    }
  }

  const AttentionAttributes attributes_;
  const GemmTileKernels& packed_tiles_;
  const GemmTileKernels& tiles_;  // of float32
  const AttentionRows rows_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithTiles(const NodeSpec& spec,
                                                      const GemmTileKernels& tiles) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  for (int i = 0; i < 3; ++i) {
    if (spec.input_dtype(i) != DType::kFloat32) return absl::UnimplementedError("float32 only");
  }
  ONWARD_RETURN_IF_ERROR(AttentionRows::CheckTypes(attributes, spec, 3));
  if (spec.has_output(3)) return absl::UnimplementedError("no qk_matmul_output");
  if (spec.has_input(4) && !(spec.has_output(1) && spec.has_output(2)))
    return absl::UnimplementedError("a past needs both present outputs");
  return std::make_unique<Attention>(attributes, spec, tiles);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAttention(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, FasterTilesOf(spec));
  return MakeWithTiles(spec, *tiles);
}

constexpr KernelEntry kKernels[] = {
    {"", "Attention", "attention_bf16", MakeAttention, kBf16Targets},
    {"", "Attention", "attention", MakeAttention, kVectorTargets},
};

}  // namespace

KernelList AttentionKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
