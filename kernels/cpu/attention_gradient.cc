// onward.AttentionGradient in float32: blocks of query rows against all keys that they attend.
// Scores of a block are computed again, and its part of the gradients of keys and values is added
// up, so that no more than one block of probabilities per thread stands in memory (Dao et al.,
// "FlashAttention", 2022). Tiles of pairs round both operands of products to bfloat16.
#include "kernels/bind/attention_gradient.h"

#include <algorithm>

#include "graph/base/checked.h"
#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/block_product.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 128 * 1024;       // multiplications that one thread takes at least
constexpr int64_t kBlockFloats = 96 * 1024;  // scores of a block: they stay in the caches
constexpr int64_t kLeastTiles = 2;           // rows of a block
constexpr int64_t kSumGrain = 16 * 1024;     // floats that one thread adds at least
// Multiplications that make a part of a head worth sums of its own, and parts at most.
constexpr int64_t kPartWork = 8 * 1024 * 1024, kMostParts = 32;
constexpr int64_t kLine = 16;  // floats; rows of scores begin in different sets of the cache

using namespace attention_gradient;  // NOLINT: numbers of inputs and outputs

// Where things begin in a worker's scratch, in floats.
struct Places {
  int64_t keys_transposed, values_transposed, keys;  // panels of a whole head
  int64_t queries, upstream;                         // panels of a block
  int64_t query_rows, upstream_rows;                 // rows of a block
  int64_t p, dp;                                     // [block_rows][score_row]
  int64_t rows;                                      // of p or dp
  int64_t size;
};

struct AttentionGradientState {
  AttentionGeometry g;
  int64_t block_rows, score_row;
  int64_t blocks;    // per query head
  int64_t segments;  // into which the blocks of a key head are cut, each with sums of its own
  int64_t sums;      // floats of one segment: gradients of keys, then of values; 0 for one segment
  Places at;

  int64_t parts() const { return g.batch * g.kv_heads * segments; }
};

// One segment of one key head.
struct Part {
  int64_t batch, kv_head;
  BlockPanels keys_transposed, values_transposed, keys;
  float *dk, *dv;
  int64_t dk_row, dv_row;
  float* scratch;
  bool begun;  // whether a block has been added to dk and dv
};

class AttentionGradient : public Kernel {
 public:
  AttentionGradient(const AttentionAttributes& attributes, const NodeSpec& spec,
                    const GemmTileKernels& tiles)
      : attributes_(attributes),
        tiles_(tiles),
        rows_(attributes, spec, kMask, kNonpad, tiles.target) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttentionGradient(attributes_, context));
    auto* s = context.NewState<AttentionGradientState>();
    s->g = g;
    const int64_t keys = g.total_len(), rows = tiles_.tile_rows;
    s->score_row = CeilDiv(keys, kLine) * kLine + kLine;
    const int64_t heads = std::max<int64_t>(1, g.batch * g.kv_heads);
    const int64_t queries = g.batch * g.q_heads * g.q_len;
    const int64_t work = queries * keys * 5 * (g.head_size + g.v_head_size) / 2;
    const int64_t wanted = std::clamp<int64_t>(work / kPartWork, 1, kMostParts);
    const int64_t most =
        std::min(CeilDiv(queries, wanted * rows), kBlockFloats / s->score_row / rows);
    s->block_rows = std::clamp(most, kLeastTiles, BlockKeys::kMostRows / rows) * rows;
    s->block_rows = std::min(CeilDiv(EvenPiece(g.q_len, s->block_rows), rows) * rows,
                             std::max<int64_t>(1, g.q_len));
    s->blocks = CeilDiv(g.q_len, s->block_rows);
    s->segments =
        std::clamp<int64_t>(wanted / heads, 1, std::max<int64_t>(1, g.group() * s->blocks));
    s->sums = s->segments == 1 ? 0 : keys * (g.head_size + g.v_head_size);
    s->at = PlacesOf(*s);
    ONWARD_ASSIGN_OR_RETURN(
        const int64_t scratch,
        CheckedByteSize(DType::kFloat32, Dims{context.num_workers(), s->at.size}));
    ONWARD_ASSIGN_OR_RETURN(const int64_t sums,
                            CheckedByteSize(DType::kFloat32, Dims{s->parts(), s->sums}));
    context.SetScratch(scratch + sums);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<AttentionGradientState>();
    ONWARD_RETURN_IF_ERROR(rows_.CheckNonpad(context, s.g));
    const int64_t work = 5 * s.g.group() * s.g.q_len * s.g.total_len() *
                         (s.g.head_size + s.g.v_head_size) / (2 * s.segments);
    context.ParallelForWorkers(s.parts(), CeilDiv(kGrain, std::max<int64_t>(1, work)),
                               [&](int worker, int64_t begin, int64_t end) {
                                 float* scratch = context.scratch<float>() + s.parts() * s.sums +
                                                  worker * s.at.size;
                                 for (int64_t i = begin; i < end; ++i)
                                   RunPart(context, s, i, scratch);
                               });
    if (s.segments > 1) AddSegments(context, s);
    return absl::OkStatus();
  }

 private:
  Places PlacesOf(const AttentionGradientState& s) const {
    const AttentionGeometry& g = s.g;
    const int64_t keys = g.total_len(), rows = s.block_rows;
    Places at = {};
    const auto take = [&](int64_t floats) {
      const int64_t begin = at.size;
      at.size += CeilDiv(floats, kLine) * kLine;
      return begin;
    };
    at.keys_transposed = take(BlockPanelsSize(tiles_, g.head_size, keys));
    at.values_transposed = take(BlockPanelsSize(tiles_, g.v_head_size, keys));
    at.keys = take(BlockPanelsSize(tiles_, keys, g.head_size));
    at.queries = take(BlockPanelsSize(tiles_, rows, g.head_size));
    at.upstream = take(BlockPanelsSize(tiles_, rows, g.v_head_size));
    at.query_rows = take(BlockRowsSize(tiles_, rows, g.head_size));
    at.upstream_rows = take(BlockRowsSize(tiles_, rows, g.v_head_size));
    at.p = take(rows * s.score_row);
    at.dp = take(rows * s.score_row);
    at.rows = take(std::max(BlockRowsSize(tiles_, rows, keys), BlockRowsSize(tiles_, keys, rows)));
    return at;
  }

  static float* SumsOf(const RunContext& context, const AttentionGradientState& s, int64_t part) {
    return context.scratch<float>() + part * s.sums;
  }

  void RunPart(const RunContext& context, const AttentionGradientState& s, int64_t index,
               float* scratch) const {
    const AttentionGeometry& g = s.g;
    const int64_t head = index / s.segments, segment = index % s.segments, keys = g.total_len();
    Part part;
    part.batch = head / g.kv_heads, part.kv_head = head % g.kv_heads;
    part.scratch = scratch;
    const int64_t k_at = part.batch * g.k_batch + part.kv_head * g.k_head;
    const int64_t v_at = part.batch * g.v_batch + part.kv_head * g.v_head;
    const float *k = context.in<float>(kK) + k_at, *v = context.in<float>(kV) + v_at;
    part.keys_transposed = PackBlockPanels(tiles_, k, g.k_row, true, g.head_size, keys,
                                           scratch + s.at.keys_transposed);
    part.values_transposed = PackBlockPanels(tiles_, v, g.v_row, true, g.v_head_size, keys,
                                             scratch + s.at.values_transposed);
    part.keys = PackBlockPanels(tiles_, k, g.k_row, false, keys, g.head_size, scratch + s.at.keys);
    if (s.segments > 1) {
      part.dk = SumsOf(context, s, index), part.dk_row = g.head_size;
      part.dv = part.dk + keys * g.head_size, part.dv_row = g.v_head_size;
    } else {
      part.dk = context.has_output(kDk) ? context.out<float>(kDk) + k_at : nullptr;
      part.dv = context.has_output(kDv) ? context.out<float>(kDv) + v_at : nullptr;
      part.dk_row = g.k_row, part.dv_row = g.v_row;
    }
    const int64_t blocks = g.group() * s.blocks;
    const int64_t first = blocks * segment / s.segments;
    const int64_t last = blocks * (segment + 1) / s.segments;
    if (first == last) Clear(g, part, 0, keys);
    for (int64_t i = first; i < last; ++i) {
      part.begun = i > first;
      RunBlock(context, s, part, part.kv_head * g.group() + i / s.blocks,
               i % s.blocks * s.block_rows);
    }
  }

  // No gradient so far for keys [begin, end).
  static void Clear(const AttentionGeometry& g, const Part& part, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      if (part.dk != nullptr) std::fill_n(part.dk + j * part.dk_row, g.head_size, 0.0f);
      if (part.dv != nullptr) std::fill_n(part.dv + j * part.dv_row, g.v_head_size, 0.0f);
    }
  }

  // One block of rows of a query head.
  struct Block {
    int64_t head, first, rows;
    BlockKeys keys = {};
    const float *q = nullptr, *dy = nullptr;
    float *p = nullptr, *dp = nullptr, *dq = nullptr;  // the first two at their first key
  };

  void RunBlock(const RunContext& context, const AttentionGradientState& s, const Part& part,
                int64_t head, int64_t first) const {
    const AttentionGeometry& g = s.g;
    Block b = {head, first, std::min(s.block_rows, g.q_len - first)};
    b.keys = rows_.KeysOfBlock(context, g, part.batch, first, b.rows, tiles_.tile_cols);
    const int64_t q_at = part.batch * g.q_batch + head * g.q_head + first * g.q_row;
    b.q = context.in<float>(kQ) + q_at;
    b.dy = context.in<float>(kDy) + part.batch * g.y_batch + head * g.y_head + first * g.y_row;
    b.p = part.scratch + s.at.p + b.keys.all.begin;
    b.dp = part.scratch + s.at.dp + b.keys.all.begin;
    b.dq = context.has_output(kDq) ? context.out<float>(kDq) + q_at : nullptr;
    MultiplyByKeys(s, part, b);
    for (int64_t r = 0; r < b.rows; ++r) SoftmaxGradient(context, s, part, b, r);
    AddToSums(s, part, b);
    if (b.dq == nullptr) return;
    BlockProduct product = {b.rows, g.head_size, b.keys.count()};
    product.a = PackBlockRows(tiles_, b.dp, s.score_row, false, b.rows, b.keys.count(),
                              part.scratch + s.at.rows);
    product.b = part.keys.FromStep(tiles_, b.keys.all.begin);
    product.c = b.dq, product.c_row = g.q_row;
    Multiply(tiles_, product, [&](int64_t begin, int64_t end) {
      const KeyRange keys = b.keys.Of(begin, end);
      return BlockWindow{0, g.head_size, keys.begin, keys.end};
    });
  }

  // Products of queries with keys, and of dY with values.
  void MultiplyByKeys(const AttentionGradientState& s, const Part& part, const Block& b) const {
    const AttentionGeometry& g = s.g;
    BlockProduct product = {b.rows, b.keys.count(), g.head_size};
    product.a = PackBlockRows(tiles_, b.q, g.q_row, false, b.rows, g.head_size,
                              part.scratch + s.at.query_rows);
    product.b = part.keys_transposed.FromColumn(b.keys.all.begin);
    product.c = b.p, product.c_row = s.score_row;
    Multiply(tiles_, product, [&](int64_t begin, int64_t end) {
      const KeyRange keys = b.keys.Of(begin, end);
      return BlockWindow{keys.begin, keys.end, 0, g.head_size};
    });
    product.k = g.v_head_size;
    product.a = PackBlockRows(tiles_, b.dy, g.y_row, false, b.rows, g.v_head_size,
                              part.scratch + s.at.upstream_rows);
    product.b = part.values_transposed.FromColumn(b.keys.all.begin);
    product.c = b.dp;
    Multiply(tiles_, product, [&](int64_t begin, int64_t end) {
      const KeyRange keys = b.keys.Of(begin, end);
      return BlockWindow{keys.begin, keys.end, 0, g.v_head_size};
    });
  }

  // Products of a row become probabilities, and their gradients those of the products.
  void SoftmaxGradient(const RunContext& context, const AttentionGradientState& s, const Part& part,
                       const Block& b, int64_t r) const {
    // At key 0.
    float* p = b.p - b.keys.all.begin + r * s.score_row;
    float* dp = b.dp - b.keys.all.begin + r * s.score_row;
    const KeyRange keys =
        rows_.Softmax(context, s.g, part.batch, b.head, b.first + r, b.keys.all, p);
    rows_.kernels().gradient(p + keys.begin, dp + keys.begin, keys.end - keys.begin,
                             rows_.ScaleOf(s.g));
    AttentionRows::FillOutside(keys, b.keys.all, dp);
  }

  // What the block gives to the gradients of values and keys.
  void AddToSums(const AttentionGradientState& s, const Part& part, const Block& b) const {
    const AttentionGeometry& g = s.g;
    float* packed = part.scratch + s.at.rows;
    const auto seen_by = [&](int64_t begin, int64_t end) {
      const KeyRange rows = b.keys.RowsOf(begin, end);
      return BlockWindow{0, std::max(g.head_size, g.v_head_size), rows.begin, rows.end};
    };
    BlockProduct product = {b.keys.count(), g.v_head_size, b.rows};
    product.accumulate = part.begun;
    if (!part.begun) {
      Clear(g, part, 0, b.keys.all.begin);
      Clear(g, part, b.keys.all.end, g.total_len());
    }
    if (part.dv != nullptr) {
      product.a = PackBlockRows(tiles_, b.p, s.score_row, true, b.keys.count(), b.rows, packed);
      product.b = PackBlockPanels(tiles_, b.dy, g.y_row, false, b.rows, g.v_head_size,
                                  part.scratch + s.at.upstream);
      product.c = part.dv + b.keys.all.begin * part.dv_row, product.c_row = part.dv_row;
      Multiply(tiles_, product, seen_by);
    }
    if (part.dk == nullptr) return;
    product.n = g.head_size;
    product.a = PackBlockRows(tiles_, b.dp, s.score_row, true, b.keys.count(), b.rows, packed);
    product.b = PackBlockPanels(tiles_, b.q, g.q_row, false, b.rows, g.head_size,
                                part.scratch + s.at.queries);
    product.c = part.dk + b.keys.all.begin * part.dk_row, product.c_row = part.dk_row;
    Multiply(tiles_, product, seen_by);
  }

  void AddSegments(const RunContext& context, const AttentionGradientState& s) const {
    const AttentionGeometry& g = s.g;
    const int64_t keys = g.total_len(), row = (g.head_size + g.v_head_size) * s.segments;
    context.ParallelFor(
        g.batch * g.kv_heads * keys, CeilDiv(kSumGrain, std::max<int64_t>(1, row)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t head = i / keys, j = i % keys;
            const int64_t batch = head / g.kv_heads, kv_head = head % g.kv_heads;
            const float* sums = SumsOf(context, s, head * s.segments);
            if (context.has_output(kDk)) {
              AddRows(
                  sums + j * g.head_size, s, g.head_size,
                  context.out<float>(kDk) + batch * g.k_batch + kv_head * g.k_head + j * g.k_row);
            }
            if (context.has_output(kDv)) {
              AddRows(
                  sums + keys * g.head_size + j * g.v_head_size, s, g.v_head_size,
                  context.out<float>(kDv) + batch * g.v_batch + kv_head * g.v_head + j * g.v_row);
            }
          }
        });
  }

  static void AddRows(const float* sums, const AttentionGradientState& s, int64_t size, float* to) {
    std::copy_n(sums, size, to);
    for (int64_t segment = 1; segment < s.segments; ++segment) {
      sums += s.sums;
      for (int64_t i = 0; i < size; ++i) to[i] += sums[i];
    }
  }

  const AttentionAttributes attributes_;
  const GemmTileKernels& tiles_;
  const AttentionRows rows_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithTiles(const NodeSpec& spec,
                                                      const GemmTileKernels& tiles) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(AttentionRows::CheckTypes(attributes, spec, kMask));
  for (const int i : {kQ, kK, kV, kDy})
    if (spec.input_dtype(i) != DType::kFloat32) return absl::UnimplementedError("float32 only");
  return std::make_unique<AttentionGradient>(attributes, spec, tiles);
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, FasterTilesOf(spec));
  return MakeWithTiles(spec, *tiles);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AttentionGradient", "attention_gradient_bf16", Make, kBf16Targets},
    {"onward", "AttentionGradient", "attention_gradient", Make, kVectorTargets},
};

}  // namespace

KernelList AttentionGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
