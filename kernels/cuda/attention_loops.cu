// Attention and its gradient by tiles of queries and keys. A block of the first kernels has a tile
// of queries for itself, one of the last a tile of keys, so that no two add to one number.
#include <cmath>

#include "kernels/binary_functors.h"
#include "kernels/cuda/attention_row.h"
#include "kernels/cuda/attention_scores.cuh"
#include "kernels/cuda/attention_tiled.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// The state of a thread's rows: the largest score so far, and the sum of powers relative to it.
struct RunningRows {
  float most[kPart] = {kLeast, kLeast, kLeast, kLeast};
  float sum[kPart] = {};
};

// Scores become powers; `scales` is by how much earlier sums shrink.
__device__ inline void TakeScores(RunningRows& rows, float (&scores)[kPart][kPart],
                                  float (&scales)[kPart]) {
  for (int i = 0; i < kPart; ++i) {
    float most = scores[i][0];
    for (int j = 1; j < kPart; ++j) most = functors::Max()(most, scores[i][j]);
    most = functors::Max()(CombineRow<functors::Max>(most), rows.most[i]);
    // A row that attends nothing yet has no number to subtract.
    const float below = most == kLeast ? 0.0f : most;
    scales[i] = std::exp(rows.most[i] - below);
    float sum = 0;
    for (int j = 0; j < kPart; ++j) sum += scores[i][j] = std::exp(scores[i][j] - below);
    rows.sum[i] = rows.sum[i] * scales[i] + CombineRow<functors::Add>(sum);
    rows.most[i] = most;
  }
}

// Weights of queries by keys for AddWeighted: a key's queries side by side, or a query's keys.
template <bool kByKey, int kSize>
__device__ inline void StoreWeights(const float (&part)[kPart][kPart], TileMemory<kSize>& memory) {
  const int line = kByKey ? PartColumn() : PartRow(), place = kByKey ? PartRow() : PartColumn();
  for (int i = 0; i < kPart; ++i) {
    Pack<float, kPart> others;
    for (int j = 0; j < kPart; ++j) others.elements[j] = kByKey ? part[j][i] : part[i][j];
    StorePack(others, memory.weights[line + i] + place);
  }
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kTileThreads) AttendTiles(TiledAttention c) {
  __shared__ TileMemory<kSize> memory;
  const BlockTile tile = TileOfBlock(c.g.q_heads, c.g.q_len);
  const HeadPair at = {tile.batch, tile.head, tile.head / c.group};
  const KeySpan span = SpanOfTile(c, at.batch, tile.first);
  RunningRows rows;
  RowSums<kSize> sums = {};
  for (int64_t key = span.begin / kTileSide * kTileSide; key < span.end; key += kTileSide) {
    ScorePart part = ScoresOf<kSize, T>(c, at, tile.first, key, memory);
    float scales[kPart];
    TakeScores(rows, part.scores, scales);
    for (int i = 0; i < kPart; ++i)
      for (int column = 0; column < kSize / 16; ++column) sums[i][column] *= scales[i];
    StoreWeights<true>(part.scores, memory);
    AddWeighted(ValuesOf<T>(c, at, key), memory, sums);
  }
  float factors[kPart];
  for (int i = 0; i < kPart; ++i) factors[i] = rows.sum[i] > 0 ? 1 / rows.sum[i] : 0.0f;
  const int64_t to = at.batch * c.g.y_batch + at.head * c.g.y_head + tile.first * c.g.y_row;
  StoreRows<kSize>(sums, factors, static_cast<T*>(c.y) + to, c.g.y_row,
                   RowsOfTile(tile.first, c.g.q_len), static_cast<int>(c.g.v_head_size));
}

// The numbers of each row of queries that all its gradients need.
template <typename T>
__global__ void __launch_bounds__(kTileThreads) SumTiles(TiledAttention c) {
  constexpr int kSize = kTileSide;
  __shared__ TileMemory<kSize> memory;
  const BlockTile tile = TileOfBlock(c.g.q_heads, c.g.q_len);
  const HeadPair at = {tile.batch, tile.head, tile.head / c.group};
  const KeySpan span = SpanOfTile(c, at.batch, tile.first);
  RunningRows rows;
  float shared[kPart] = {};
  for (int64_t key = span.begin / kTileSide * kTileSide; key < span.end; key += kTileSide) {
    ScorePart part = ScoresOf<kSize, T>(c, at, tile.first, key, memory);
    float flowing[kPart][kPart] = {}, scales[kPart];
    AddRowProducts(UpstreamOf<T>(c, at, tile.first), ValuesOf<T>(c, at, key), memory, flowing);
    TakeScores(rows, part.scores, scales);
    for (int i = 0; i < kPart; ++i) {
      float sum = 0;
      for (int j = 0; j < kPart; ++j) sum += part.scores[i][j] * flowing[i][j];
      shared[i] = shared[i] * scales[i] + CombineRow<functors::Add>(sum);
    }
  }
  if (PartColumn() != 0) return;
  const int64_t row = (at.batch * c.g.q_heads + at.head) * c.g.q_len + tile.first;
  for (int i = 0; i < kPart; ++i) {
    if (tile.first + PartRow() + i >= c.g.q_len) continue;
    // An infinite logarithm makes all probabilities 0.
    const bool attends = rows.sum[i] > 0;
    c.logs[row + PartRow() + i] = attends ? rows.most[i] + std::log(rows.sum[i]) : -kLeast;
    c.shared[row + PartRow() + i] = attends ? shared[i] / rows.sum[i] : 0.0f;
  }
}

// Scores become probabilities, and slopes the gradients of products.
template <int kSize, typename T>
__device__ inline ScorePart GradientsOf(const TiledAttention& c, const HeadPair& at,
                                        int64_t first_query, int64_t first_key,
                                        TileMemory<kSize>& memory) {
  ScorePart part = ScoresOf<kSize, T>(c, at, first_query, first_key, memory);
  float flowing[kPart][kPart] = {};
  AddRowProducts(UpstreamOf<T>(c, at, first_query), ValuesOf<T>(c, at, first_key), memory, flowing);
  const int64_t first = (at.batch * c.g.q_heads + at.head) * c.g.q_len;
  for (int i = 0; i < kPart; ++i) {
    const int64_t row = first_query + PartRow() + i;
    const float log = row < c.g.q_len ? c.logs[first + row] : -kLeast;
    const float shared = row < c.g.q_len ? c.shared[first + row] : 0.0f;
    for (int j = 0; j < kPart; ++j) {
      const float p = std::exp(part.scores[i][j] - log);
      part.scores[i][j] = p;
      part.slopes[i][j] *= p * (flowing[i][j] - shared);
    }
  }
  return part;
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kTileThreads) QueryGradientTiles(TiledAttention c) {
  __shared__ TileMemory<kSize> memory;
  const BlockTile tile = TileOfBlock(c.g.q_heads, c.g.q_len);
  const HeadPair at = {tile.batch, tile.head, tile.head / c.group};
  const KeySpan span = SpanOfTile(c, at.batch, tile.first);
  RowSums<kSize> sums = {};
  for (int64_t key = span.begin / kTileSide * kTileSide; key < span.end; key += kTileSide) {
    const ScorePart part = GradientsOf<kSize, T>(c, at, tile.first, key, memory);
    StoreWeights<true>(part.slopes, memory);
    AddWeighted(KeysOf<T>(c, at, key), memory, sums);
  }
  const int64_t to = at.batch * c.g.q_batch + at.head * c.g.q_head + tile.first * c.g.q_row;
  StoreRows<kSize>(sums, {1, 1, 1, 1}, static_cast<T*>(c.dq) + to, c.g.q_row,
                   RowsOfTile(tile.first, c.g.q_len), static_cast<int>(c.g.head_size));
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kTileThreads) KeyGradientTiles(TiledAttention c) {
  __shared__ TileMemory<kSize> memory;
  const BlockTile tile = TileOfBlock(c.g.kv_heads, c.g.new_len);
  const int rows = RowsOfTile(tile.first, c.g.new_len);
  RowSums<kSize> of_keys = {}, of_values = {};
  for (int64_t i = 0; i < c.group; ++i) {
    const HeadPair at = {tile.batch, tile.head * c.group + i, tile.head};
    for (int64_t query = 0; query < c.g.q_len; query += kTileSide) {
      const KeySpan span = SpanOfTile(c, at.batch, query);
      if (span.end <= tile.first || span.begin >= tile.first + rows) continue;
      const ScorePart part = GradientsOf<kSize, T>(c, at, query, tile.first, memory);
      StoreWeights<false>(part.scores, memory);
      AddWeighted(UpstreamOf<T>(c, at, query), memory, of_values);
      __syncthreads();  // before the weights are written anew
      StoreWeights<false>(part.slopes, memory);
      AddWeighted(QueriesOf<T>(c, at, query), memory, of_keys);
    }
  }
  const int64_t key = tile.batch * c.g.k_batch + tile.head * c.g.k_head + tile.first * c.g.k_row;
  const int64_t value = tile.batch * c.g.v_batch + tile.head * c.g.v_head + tile.first * c.g.v_row;
  if (c.dk != nullptr) {
    StoreRows<kSize>(of_keys, {1, 1, 1, 1}, static_cast<T*>(c.dk) + key, c.g.k_row, rows,
                     static_cast<int>(c.g.head_size));
  }
  if (c.dv != nullptr) {
    StoreRows<kSize>(of_values, {1, 1, 1, 1}, static_cast<T*>(c.dv) + value, c.g.v_row, rows,
                     static_cast<int>(c.g.v_head_size));
  }
}

using TilesKernel = void (*)(TiledAttention c);

absl::Status LaunchTiles(TilesKernel kernel, const TiledAttention& call, int64_t heads,
                         int64_t length, cudaStream_t stream) {
  const int64_t blocks = call.g.batch * heads * ((length + kTileSide - 1) / kTileSide);
  if (blocks == 0) return absl::OkStatus();
  return Launch(kernel, static_cast<unsigned>(blocks), kTileThreads, 0, stream, call);
}

// The kernels for one type, and for heads of up to kSize elements.
struct TilesKernels {
  TilesKernel attend, sum, of_queries, of_keys;
};
template <typename T, int kSize>
constexpr TilesKernels kTilesKernels = {AttendTiles<T, kSize>, SumTiles<T>,
                                        QueryGradientTiles<T, kSize>, KeyGradientTiles<T, kSize>};

using TiledTypes = TypeList<float, Float16, BFloat16>;

TilesKernels KernelsFor(const TiledAttention& call) {
  TilesKernels kernels = {};
  const bool small = call.g.head_size <= kTileSide && call.g.v_head_size <= kTileSide;
  DispatchDType(TiledTypes(), call.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernels = small ? kTilesKernels<T, kTileSide> : kTilesKernels<T, 2 * kTileSide>;
  });
  return kernels;
}

}  // namespace

absl::Status RunTiledAttention(const TiledAttention& call, cudaStream_t stream) {
  if (IsRowOfAttention(call)) return RunAttentionRow(call, stream);
  return LaunchTiles(KernelsFor(call).attend, call, call.g.q_heads, call.g.q_len, stream);
}

absl::Status RunTiledAttentionGradient(const TiledAttention& call, cudaStream_t stream) {
  const TilesKernels kernels = KernelsFor(call);
  const AttentionGeometry& g = call.g;
  ONWARD_RETURN_IF_ERROR(LaunchTiles(kernels.sum, call, g.q_heads, g.q_len, stream));
  if (call.dq != nullptr)
    ONWARD_RETURN_IF_ERROR(LaunchTiles(kernels.of_queries, call, g.q_heads, g.q_len, stream));
  if (call.dk == nullptr && call.dv == nullptr) return absl::OkStatus();
  return LaunchTiles(kernels.of_keys, call, g.kv_heads, g.new_len, stream);
}

}  // namespace onward::kernels::cuda
