// Attention in float32: blocks of query rows that share their keys, scores of one block at a time.
// Few rows (decoding) take dot products with the keys as they lie; many take the product's tiles on
// packed keys.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::cpu {
namespace {

// Products that one thread takes at a time at least: about 10 us.
constexpr int64_t kGrain = 256 * 1024;
constexpr int64_t kFewRows = 6;

struct AttentionState {
  AttentionGeometry g;
  bool heads_are_rows;  // one query position: the rows of a block are the heads of a group
  int64_t block_rows;   // at most
  int64_t blocks;       // per head, or per key/value head when heads are rows
  int64_t scratch;      // floats per worker: scores, then one packed panel of keys
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
  float* scores;  // [rows][total_len]
  float* panel;
  KeyRange keys;  // that any row attends
};

class Attention : public Kernel {
 public:
  Attention(const AttentionAttributes& attributes, const NodeSpec& spec, InstructionSet set)
      : attributes_(attributes), tiles_(GemmTiles(set)), rows_(attributes, spec, 3, 6, set) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttention(attributes_, context));
    auto* s = context.NewState<AttentionState>();
    s->g = g;
    s->heads_are_rows = g.q_len == 1;
    const int64_t rows = s->heads_are_rows ? g.group() : g.q_len;
    s->block_rows = std::min<int64_t>(rows, 4 * tiles_.tile_rows);
    s->blocks = rows == 0 ? 0 : (rows + s->block_rows - 1) / s->block_rows;
    s->scratch = s->block_rows * g.total_len() + tiles_.tile_cols * g.head_size;
    context.SetScratch(context.num_workers() * s->scratch * static_cast<int64_t>(sizeof(float)));
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
    b.panel = scratch + s.block_rows * g.total_len();
    b.keys = rows_.KeysOfBlock(context, g, b.batch, b.first_query, s.heads_are_rows ? 1 : b.rows);
    const KeyValues kv = KeysOf(context, g, b.batch, kv_head);
    Scores(g, b, kv);
    for (int64_t r = 0; r < b.rows; ++r) {
      rows_.Softmax(context, g, b.batch, b.first_head + (s.heads_are_rows ? r : 0),
                    b.first_query + (s.heads_are_rows ? 0 : r), b.keys,
                    b.scores + r * g.total_len());
    }
    Combine(g, b, kv);
  }

  void Scores(const AttentionGeometry& g, const Block& b, const KeyValues& kv) const {
    const int64_t total = g.total_len(), count = b.keys.end - b.keys.begin;
    if (b.rows < kFewRows) {
      for (int64_t r = 0; r < b.rows; ++r) {
        rows_.kernels().dots(b.q + r * b.q_row, kv.k + b.keys.begin * kv.k_row, kv.k_row, count,
                             g.head_size, b.scores + r * total + b.keys.begin);
      }
      return;
    }
    GemmTile tile;
    tile.k = g.head_size;
    tile.a_row = b.q_row;
    tile.a_k = 1;
    tile.b = b.panel;
    tile.b_k = tiles_.tile_cols;
    tile.b_padded = true;
    tile.c_row = total;
    for (int64_t key = b.keys.begin; key < b.keys.end; key += tiles_.tile_cols) {
      tile.cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, b.keys.end - key));
      tiles_.pack_columns_transposed(kv.k + key * kv.k_row, kv.k_row, tile.cols, g.head_size, 1.0f,
                                     b.panel);
      for (int64_t r = 0; r < b.rows; r += tiles_.tile_rows) {
        tile.rows = static_cast<int>(std::min<int64_t>(tiles_.tile_rows, b.rows - r));
        tile.a = b.q + r * b.q_row;
        tile.c = b.scores + r * total + key;
        tiles_.tile(tile);
      }
    }
  }

  // Y = P V
  void Combine(const AttentionGeometry& g, const Block& b, const KeyValues& kv) const {
    GemmTile tile;
    tile.k = b.keys.end - b.keys.begin;
    tile.a_row = g.total_len();
    tile.a_k = 1;
    tile.b_k = kv.v_row;
    tile.c_row = b.y_row;
    for (int64_t column = 0; column < g.v_head_size; column += tiles_.tile_cols) {
      tile.cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, g.v_head_size - column));
      tile.b = kv.v + b.keys.begin * kv.v_row + column;
      for (int64_t r = 0; r < b.rows; r += tiles_.tile_rows) {
        tile.rows = static_cast<int>(std::min<int64_t>(tiles_.tile_rows, b.rows - r));
        tile.a = b.scores + r * g.total_len() + b.keys.begin;
        tile.c = b.y + r * b.y_row + column;
        tiles_.tile(tile);
      }
    }
  }

  const AttentionAttributes attributes_;
  const GemmTileKernels& tiles_;
  const AttentionRows rows_;
};

template <InstructionSet kSet>
absl::StatusOr<std::unique_ptr<Kernel>> MakeAttention(const NodeSpec& spec) {
  if (!Supports(kSet)) {
    return absl::UnimplementedError(
        absl::StrCat("the processor lacks ", std::string(InstructionSetName(kSet))));
  }
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  for (int i = 0; i < 3; ++i) {
    if (spec.input_dtype(i) != DType::kFloat32) return absl::UnimplementedError("float32 only");
  }
  ONWARD_RETURN_IF_ERROR(AttentionRows::CheckTypes(attributes, spec, 3));
  if (spec.has_output(3)) return absl::UnimplementedError("no qk_matmul_output");
  if (spec.has_input(4) && !(spec.has_output(1) && spec.has_output(2)))
    return absl::UnimplementedError("a past needs both present outputs");
  return std::make_unique<Attention>(attributes, spec, kSet);
}

constexpr KernelEntry kKernels[] = {
    {"", "Attention", "attention_avx512", MakeAttention<InstructionSet::kAvx512>},
    {"", "Attention", "attention_avx2", MakeAttention<InstructionSet::kAvx2>},
    {"", "Attention", "attention_baseline", MakeAttention<InstructionSet::kBaseline>},
};

}  // namespace

KernelList AttentionKernels() { return kKernels; }

}  // namespace onward::cpu
