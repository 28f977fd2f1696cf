// Products of tiles of rows, by blocks of 16 x 16 threads that hold the sums in registers. Kernels
// of attention are made of them: no score is ever in global memory (Dao et al., "FlashAttention",
// 2022). Sums are in float32, in one order.
#pragma once

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/pack.cuh"

namespace onward::kernels::cuda {

inline constexpr int kTileSide = 64;  // rows of a tile
inline constexpr int kPart = 4;       // neighbours that a thread has of each 64
inline constexpr int kStage = 16;     // elements or rows that are staged at once
inline constexpr int kTileLine = kTileSide + kPart;
inline constexpr int kTileThreads = 256;

// Threads of one row of parts are neighbours.
__device__ inline int PartRow() { return static_cast<int>(threadIdx.x) / 16 * kPart; }
__device__ inline int PartColumn() { return static_cast<int>(threadIdx.x) % 16 * kPart; }

// Rows of one head, from the first of a tile on. Those that are not there are zeros.
template <typename T>
struct TileRows {
  const T* data;
  int64_t step;  // elements from one row to the next
  int rows, size;
  bool packs;  // parts of rows begin where one access may move them
};

// kSize: the most elements of a row, a multiple of 64.
template <int kSize>
struct alignas(16) TileMemory {
  static constexpr int kStaged =
      kStage * kSize > 2 * kStage* kTileLine ? kStage* kSize : 2 * kStage* kTileLine;
  float staged[kStaged];
  float weights[kTileSide][kTileLine];  // the left side of AddWeighted
};

template <typename T>
__device__ inline Pack<float, kPart> LoadPart(const TileRows<T>& from, int row, int first) {
  Pack<float, kPart> part = {};
  if (row >= from.rows) return part;
  const T* at = from.data + row * from.step + first;
  if (from.packs && first < from.size) {
    const Pack<T, kPart> loaded = LoadPack<kPart>(at);
    for (int i = 0; i < kPart; ++i) part.elements[i] = Load(loaded.elements[i]);
    return part;
  }
  for (int i = 0; i < kPart; ++i)
    if (first + i < from.size) part.elements[i] = Load(at[i]);
  return part;
}

// Stages elements [first, first + kStage) of all rows, an element's rows side by side.
template <typename T>
__device__ inline void StageElements(const TileRows<T>& from, int first, float* to) {
  const int row = static_cast<int>(threadIdx.x) / kPart;
  const int element = static_cast<int>(threadIdx.x) % kPart * kPart;
  const Pack<float, kPart> part = LoadPart(from, row, first + element);
  for (int i = 0; i < kPart; ++i) to[(element + i) * kTileLine + row] = part.elements[i];
}

// sums[i][j] += a's row PartRow() + i times b's row PartColumn() + j.
template <int kSize, typename T>
__device__ inline void AddRowProducts(const TileRows<T>& a, const TileRows<T>& b,
                                      TileMemory<kSize>& memory, float (&sums)[kPart][kPart]) {
  float *left = memory.staged, *right = memory.staged + kStage * kTileLine;
  for (int first = 0; first < a.size; first += kStage) {
    __syncthreads();  // before what others still read is written
    StageElements(a, first, left);
    StageElements(b, first, right);
    __syncthreads();
    for (int d = 0; d < kStage; ++d) {
      const auto x = LoadPack<kPart>(left + d * kTileLine + PartRow());
      const auto y = LoadPack<kPart>(right + d * kTileLine + PartColumn());
      for (int i = 0; i < kPart; ++i)
        for (int j = 0; j < kPart; ++j) sums[i][j] += x.elements[i] * y.elements[j];
    }
  }
}

// A thread's sums over rows of kSize elements: four columns of each 64.
template <int kSize>
using RowSums = float[kPart][kSize / 16];

// sums += weights transposed times b: row PartRow() + i of the sums gets each row k of b times
// weights[k][PartRow() + i].
template <int kSize, typename T>
__device__ inline void AddWeighted(const TileRows<T>& b, TileMemory<kSize>& memory,
                                   RowSums<kSize>& sums) {
  constexpr int kParts = kSize / kPart;
  for (int first = 0; first < b.rows; first += kStage) {
    __syncthreads();  // after the weights are written, and what others still read
    for (int i = 0; i < kStage * kParts / kTileThreads; ++i) {
      const int place = static_cast<int>(threadIdx.x) + i * kTileThreads;
      const int row = place / kParts, element = place % kParts * kPart;
      StorePack(LoadPart(b, first + row, element), memory.staged + row * kSize + element);
    }
    __syncthreads();
    for (int k = 0; k < kStage; ++k) {
      const auto x = LoadPack<kPart>(memory.weights[first + k] + PartRow());
      for (int c = 0; c < kSize / kTileSide; ++c) {
        const auto y = LoadPack<kPart>(memory.staged + k * kSize + c * kTileSide + PartColumn());
        for (int i = 0; i < kPart; ++i)
          for (int j = 0; j < kPart; ++j) sums[i][c * kPart + j] += x.elements[i] * y.elements[j];
      }
    }
  }
}

// Writes the sums' rows [0, rows) of `size` elements, each times its factor.
template <int kSize, typename T>
__device__ inline void StoreRows(const RowSums<kSize>& sums, const float (&factors)[kPart], T* to,
                                 int64_t step, int rows, int size) {
  for (int i = 0; i < kPart; ++i) {
    const int row = PartRow() + i;
    if (row >= rows) continue;
    for (int c = 0; c < kSize / 16; ++c) {
      const int column = c / kPart * kTileSide + PartColumn() + c % kPart;
      if (column < size) to[row * step + column] = Rounded<T>(sums[i][c] * factors[i]);
    }
  }
}

// Combines the values of the 16 threads that share rows.
template <typename F>
__device__ inline float CombineRow(float value) {
  for (int lanes = 8; lanes > 0; lanes /= 2) value = F()(value, __shfl_xor_sync(~0u, value, lanes));
  return value;
}

}  // namespace onward::kernels::cuda
