#pragma once

#include "kernels/cpu/simd/transpose.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// A square whose rows and columns may be fewer than the lanes.
ONWARD_INLINE void TransposeEdge(const char* from, int64_t from_stride, int rows, int columns,
                                 char* to, int64_t to_stride) {
  Vec square[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    square[i] =
        i < rows ? LoadN(reinterpret_cast<const float*>(from + i * from_stride), columns) : Vec{};
  }
  Transpose(square);
  for (int i = 0; i < columns; ++i)
    StoreN(reinterpret_cast<float*>(to + i * to_stride), square[i], rows);
}

ONWARD_INLINE void TransposeSquare(const char* from, int64_t from_stride, char* to,
                                   int64_t to_stride) {
  Vec square[kLanes];
  // Elements may be pairs of two bytes, aligned as those are.
  ONWARD_UNROLL
  for (int i = 0; i < kLanes; ++i)
    __builtin_memcpy(&square[i], from + i * from_stride, sizeof(Vec));
  Transpose(square);
  ONWARD_UNROLL
  for (int i = 0; i < kLanes; ++i) __builtin_memcpy(to + i * to_stride, &square[i], sizeof(Vec));
}

void TransposeFours(const char* from, int64_t from_stride, int64_t rows, int64_t columns, char* to,
                    int64_t to_stride) {
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int count = static_cast<int>(rows - r < kLanes ? rows - r : kLanes);
    const char* line = from + r * from_stride;
    char* column = to + r * 4;
    int64_t c = 0;
    if (count == kLanes) {
      for (; c + kLanes <= columns; c += kLanes)
        TransposeSquare(line + c * 4, from_stride, column + c * to_stride, to_stride);
    }
    for (; c < columns; c += kLanes) {
      const int left = static_cast<int>(columns - c < kLanes ? columns - c : kLanes);
      TransposeEdge(line + c * 4, from_stride, count, left, column + c * to_stride, to_stride);
    }
  }
}

// A square of pairs: of two neighbouring rows the elements of even columns, or of odd ones, make
// one row of words, which are then transposed.
template <bool kOdd>
ONWARD_INLINE void TransposePairs(const char* from, int64_t from_stride, char* to,
                                  int64_t to_stride) {
  Vec square[kLanes];
  ONWARD_UNROLL
  for (int i = 0; i < kLanes; ++i) {
    UVec upper, lower;
    __builtin_memcpy(&upper, from + 2 * i * from_stride, sizeof(UVec));
    __builtin_memcpy(&lower, from + (2 * i + 1) * from_stride, sizeof(UVec));
    square[i] = reinterpret_cast<Vec>(kOdd ? (upper >> 16) | (lower & 0xffff0000u)
                                           : (upper & 0xffffu) | (lower << 16));
  }
  Transpose(square);
  ONWARD_UNROLL
  for (int i = 0; i < kLanes; ++i) {
    __builtin_memcpy(to + (2 * i + (kOdd ? 1 : 0)) * to_stride, &square[i], sizeof(Vec));
  }
}

ONWARD_INLINE void TransposeEach(const char* from, int64_t from_stride, int64_t rows,
                                 int64_t columns, char* to, int64_t to_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      __builtin_memcpy(to + c * to_stride + r * 2, from + r * from_stride + c * 2, 2);
  }
}

void TransposeTwos(const char* from, int64_t from_stride, int64_t rows, int64_t columns, char* to,
                   int64_t to_stride) {
  constexpr int64_t kSide = 2 * kLanes;
  const int64_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  for (int64_t r = 0; r < whole_rows; r += kSide) {
    for (int64_t c = 0; c < whole_columns; c += kSide) {
      const char* corner = from + r * from_stride + c * 2;
      char* at = to + c * to_stride + r * 2;
      TransposePairs<false>(corner, from_stride, at, to_stride);
      TransposePairs<true>(corner, from_stride, at, to_stride);
    }
  }
  TransposeEach(from + whole_columns * 2, from_stride, whole_rows, columns - whole_columns,
                to + whole_columns * to_stride, to_stride);
  TransposeEach(from + whole_rows * from_stride, from_stride, rows - whole_rows, columns,
                to + whole_rows * 2, to_stride);
}

// Elements r, r + kRows, ... of the vectors that follow each other in memory.
template <int kRows, int r, typename V, int... I>
ONWARD_INLINE V EveryLane(const V (&v)[kRows], std::integer_sequence<int, I...>) {
  constexpr int kCount = sizeof...(I);
  if constexpr (kRows == 2) {
    return __builtin_shufflevector(v[0], v[1], (2 * I + r)...);
  } else {
    const V some = __builtin_shufflevector(v[0], v[1], (3 * I + r < 2 * kCount ? 3 * I + r : 0)...);
    return __builtin_shufflevector(some, v[2],
                                   (3 * I + r < 2 * kCount ? I : 3 * I + r - kCount)...);
  }
}

template <typename T, int kBytes, int kRows>
ONWARD_INLINE void SplitRows(const char* from, int64_t columns, char* to, int64_t to_stride) {
  typedef T V __attribute__((vector_size(kBytes)));
  constexpr int kCount = kBytes / sizeof(T);
  constexpr auto kAll = std::make_integer_sequence<int, kCount>();
  int64_t c = 0;
  for (; c + kCount <= columns; c += kCount, from += kRows * kBytes) {
    V v[kRows];
    __builtin_memcpy(v, from, sizeof(v));
    const auto store = [&](int row, V lanes) ONWARD_LAMBDA_INLINE {
      __builtin_memcpy(to + row * to_stride + c * int64_t{sizeof(T)}, &lanes, kBytes);
    };
    store(0, EveryLane<kRows, 0>(v, kAll));
    store(1, EveryLane<kRows, 1>(v, kAll));
    if constexpr (kRows == 3) store(2, EveryLane<kRows, 2>(v, kAll));
  }
  for (; c < columns; ++c) {
    for (int row = 0; row < kRows; ++row, from += sizeof(T))
      __builtin_memcpy(to + row * to_stride + c * int64_t{sizeof(T)}, from, sizeof(T));
  }
}

template <typename T, int kBytes>
void Split(const char* from, int64_t columns, int64_t rows, char* to, int64_t to_stride) {
  if (rows == 2) return SplitRows<T, kBytes, 2>(from, columns, to, to_stride);
  SplitRows<T, kBytes, 3>(from, columns, to, to_stride);
}

const TransposeLoops& Transposes() {
  // Shuffles of small elements over more than 16 bytes are slow on some targets.
  static constexpr TransposeLoops kLoops = {TransposeTwos, TransposeFours, Split<uint8_t, 16>,
                                            Split<uint16_t, 16>, Split<uint32_t, sizeof(Vec)>};
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
