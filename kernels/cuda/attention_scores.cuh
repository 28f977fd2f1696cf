// Blocks of the kernels of attention, and the scores of a tile of queries and keys.
#pragma once

#include "kernels/cuda/attention_rules.cuh"
#include "kernels/cuda/attention_tiled.h"
#include "kernels/cuda/attention_tiles.cuh"

namespace onward::kernels::cuda {

// A head of queries, with that of its keys.
struct HeadPair {
  int64_t batch, head, kv_head;
};

// A tile of rows of one head that a block has for itself. Blocks are numbered by batches, heads,
// then tiles.
struct BlockTile {
  int64_t batch, head, first;
};
__device__ inline BlockTile TileOfBlock(int64_t heads, int64_t length) {
  const int64_t tiles = (length + kTileSide - 1) / kTileSide, plane = blockIdx.x / tiles;
  const int64_t batch = plane / heads;
  return {batch, plane - batch * heads, (blockIdx.x - plane * tiles) * kTileSide};
}

__device__ inline int RowsOfTile(int64_t first, int64_t length) {
  return length - first < kTileSide ? static_cast<int>(length - first) : kTileSide;
}

// Returns whether rows of `size` elements may be read in parts.
template <typename T>
__device__ inline bool ArePacked(const void* data, int64_t size, int64_t step) {
  return size % kPart == 0 && step % kPart == 0 &&
         reinterpret_cast<uintptr_t>(data) % (sizeof(T) * kPart) == 0;
}

template <typename T>
__device__ inline TileRows<T> TileOf(const void* data, int64_t head, int64_t step, int64_t first,
                                     int64_t length, int64_t size) {
  const T* at = static_cast<const T*>(data) + head + first * step;
  return {at, step, RowsOfTile(first, length), static_cast<int>(size),
          ArePacked<T>(at, size, step)};
}
template <typename T>
__device__ inline TileRows<T> QueriesOf(const TiledAttention& c, const HeadPair& at,
                                        int64_t first) {
  return TileOf<T>(c.q, at.batch * c.g.q_batch + at.head * c.g.q_head, c.g.q_row, first, c.g.q_len,
                   c.g.head_size);
}
template <typename T>
__device__ inline TileRows<T> UpstreamOf(const TiledAttention& c, const HeadPair& at,
                                         int64_t first) {
  return TileOf<T>(c.dy, at.batch * c.g.y_batch + at.head * c.g.y_head, c.g.y_row, first, c.g.q_len,
                   c.g.v_head_size);
}
template <typename T>
__device__ inline TileRows<T> KeysOf(const TiledAttention& c, const HeadPair& at, int64_t first) {
  return TileOf<T>(c.k, at.batch * c.g.k_batch + at.kv_head * c.g.k_head, c.g.k_row, first,
                   c.g.new_len, c.g.head_size);
}
template <typename T>
__device__ inline TileRows<T> ValuesOf(const TiledAttention& c, const HeadPair& at, int64_t first) {
  return TileOf<T>(c.v, at.batch * c.g.v_batch + at.kv_head * c.g.v_head, c.g.v_row, first,
                   c.g.new_len, c.g.v_head_size);
}

// The keys that some query of a tile attends. Spans of later queries begin and end later.
__device__ inline KeySpan SpanOfTile(const TiledAttention& c, int64_t batch, int64_t first) {
  const KeySpan from = SpanOf(c.rules, batch, first);
  const KeySpan to = SpanOf(c.rules, batch, first + RowsOfTile(first, c.g.q_len) - 1);
  return {from.begin, to.end};
}

__device__ inline float MaskAt(const AttentionRules& r, int64_t at) {
  switch (r.mask_dtype) {
    case DType::kBool:
      return Masked(static_cast<const bool*>(r.mask)[at]);
    case DType::kFloat16:
      return Masked(static_cast<const Float16*>(r.mask)[at]);
    case DType::kBFloat16:
      return Masked(static_cast<const BFloat16*>(r.mask)[at]);
    default:
      return Masked(static_cast<const float*>(r.mask)[at]);
  }
}

// A thread's scores of a tile, and the derivatives of what softcap makes of them.
struct ScorePart {
  float scores[kPart][kPart] = {};
  float slopes[kPart][kPart] = {};
};

// Products become scores: scaled, capped, masked.
__device__ inline void FinishScores(const TiledAttention& c, const HeadPair& at,
                                    int64_t first_query, int64_t first_key, ScorePart& part) {
  const AttentionRules& r = c.rules;
  for (int i = 0; i < kPart; ++i) {
    const int64_t row = first_query + PartRow() + i;
    const KeySpan span = row < c.g.q_len ? SpanOf(r, at.batch, row) : KeySpan{0, 0};
    const int64_t mask = at.batch * r.mask_batch + at.head * r.mask_head + row * r.mask_row;
    for (int j = 0; j < kPart; ++j) {
      const int64_t key = first_key + PartColumn() + j;
      float score = part.scores[i][j] * c.scale, slope = c.scale;
      if (c.softcap > 0) {
        const float share = std::tanh(score / c.softcap);
        score = c.softcap * share;
        slope *= 1 - share * share;
      }
      const bool attends = key >= span.begin && key < span.end;
      if (attends && r.mask != nullptr) score += MaskAt(r, mask + key);
      part.scores[i][j] = attends ? score : -std::numeric_limits<float>::infinity();
      part.slopes[i][j] = slope;
    }
  }
}

// The scores of one tile.
template <int kSize, typename T>
__device__ inline ScorePart ScoresOf(const TiledAttention& c, const HeadPair& at,
                                     int64_t first_query, int64_t first_key,
                                     TileMemory<kSize>& memory) {
  ScorePart part;
  AddRowProducts(QueriesOf<T>(c, at, first_query), KeysOf<T>(c, at, first_key), memory,
                 part.scores);
  FinishScores(c, at, first_query, first_key, part);
  return part;
}

}  // namespace onward::kernels::cuda
