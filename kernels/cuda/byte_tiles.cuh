// Products of matrices of bytes a tile at a time: sums of 32 bits that wrap, and what becomes of
// them.
#pragma once

#include <utility>

#include "kernels/bind/requantized.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {

// A value for all lines, or one for each: of all batches or of each batch again.
template <typename T>
struct PerLine {
  const T* values;  // null: they are 0
  int64_t count;

  __device__ ComputeType<T> At(int64_t line) const {
    if (values == nullptr) return 0;
    return Load(values[count == 1 ? 0 : line % count]);
  }
};

template <typename T>
PerLine<T> PerLineOf(const RunContext& context, int input) {
  if (!context.has_input(input)) return {nullptr, 1};
  return {context.in<T>(input), context.input(input).num_elements()};
}

// Where a sum of a QLinear op is stored: as a code of the output's own scale and zero point.
template <typename S>
struct CodeOutput {
  const S* scale;
  const void* zero;
  void* y;
  bool is_signed;

  // `scale_of_sum`: the product of the operands' scales.
  __device__ void Store(int64_t at, uint32_t sum, float scale_of_sum) const {
    const float ratio = scale_of_sum / Load(*scale);
    const double scaled =
        static_cast<double>(static_cast<int32_t>(sum)) * static_cast<double>(ratio);
    if (is_signed) {
      static_cast<int8_t*>(y)[at] = Requantized(scaled, *static_cast<const int8_t*>(zero));
    } else {
      static_cast<uint8_t*>(y)[at] = Requantized(scaled, *static_cast<const uint8_t*>(zero));
    }
  }
};

inline constexpr int kTile = 64, kDepth = 16, kSide = 16;  // threads of a block: kSide x kSide
inline constexpr int kOwn = kTile / kSide;                 // rows and columns of a thread

inline constexpr int64_t kMostBlocks = 65535;  // of a grid, along y and z

inline unsigned Tiles(int64_t lines) { return static_cast<unsigned>((lines + kTile - 1) / kTile); }

// Tile (blockIdx.x, blockIdx.y) of A [m, k] times B [k, n]: columns from x * kTile on, rows from
// y * kTile on. Each thread has every kSide-th row and column of it. load_a(row, p) and
// load_b(p, column) give elements of the operands, whose neighbours lie along A's rows and B's;
// store(row, column, sum) takes the sums.
template <typename LoadA, typename LoadB, typename Store>
__device__ void MultiplyTile(int64_t m, int64_t n, int64_t k, const LoadA& load_a,
                             const LoadB& load_b, const Store& store) {
  __shared__ int a_tile[kDepth][kTile], b_tile[kDepth][kTile];
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kTile;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTile;
  const int thread = static_cast<int>(threadIdx.y * kSide + threadIdx.x);
  uint32_t sums[kOwn][kOwn] = {};
  for (int64_t p = 0; p < k; p += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kSide * kSide) {
      const int line = i / kDepth, depth = i % kDepth;
      const bool in_a = row + line < m && p + depth < k;
      a_tile[depth][line] = in_a ? load_a(row + line, p + depth) : 0;
      const int b_depth = i / kTile, b_column = i % kTile;
      const bool in_b = column + b_column < n && p + b_depth < k;
      b_tile[b_depth][b_column] = in_b ? load_b(p + b_depth, column + b_column) : 0;
    }
    __syncthreads();
    for (int depth = 0; depth < kDepth; ++depth) {
      for (int i = 0; i < kOwn; ++i) {
        for (int j = 0; j < kOwn; ++j) {
          sums[i][j] +=
              static_cast<uint32_t>(a_tile[depth][threadIdx.y + static_cast<unsigned>(i) * kSide] *
                                    b_tile[depth][threadIdx.x + static_cast<unsigned>(j) * kSide]);
        }
      }
    }
    __syncthreads();
  }
  // Without a loop, whose index would put the sums into memory.
  [&]<int... kOf>(std::integer_sequence<int, kOf...>) {
    const auto store_own = [&](int64_t r, int64_t c, uint32_t sum) {
      if (r < m && c < n) store(r, c, sum);
    };
    (store_own(row + threadIdx.y + int64_t{kOf / kOwn} * kSide,
               column + threadIdx.x + int64_t{kOf % kOwn} * kSide, sums[kOf / kOwn][kOf % kOwn]),
     ...);
  }
  (std::make_integer_sequence<int, kOwn * kOwn>());
}

inline bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

// Calls f with the tags of the operands' types; NoLoopFor those that are not bytes.
template <typename F>
absl::Status DispatchBytes(DType a, DType b, const F& f) {
  for (const DType dtype : {a, b}) {
    if (!IsByte(dtype)) return NoLoopFor(dtype);
  }
  DispatchDType(TypeList<int8_t, uint8_t>(), a, [&](auto tag_a) {
    DispatchDType(TypeList<int8_t, uint8_t>(), b, [&](auto tag_b) { f(tag_a, tag_b); });
  });
  return absl::OkStatus();
}

}  // namespace onward::kernels::cuda
