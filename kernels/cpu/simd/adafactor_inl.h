#pragma once

#include <cmath>

#include "kernels/cpu/simd/independent_inl.h"
#include "kernels/cpu/simd/scaled_steps.h"
#include "kernels/cpu/simd/squares_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// The smaller; NaN if x is.
template <typename T>
ONWARD_INLINE T AtMost(T x, T most) {
  return x > most ? most : x;
}
template <typename T>
ONWARD_INLINE T AtLeast(T x, T least) {
  return x < least ? least : x;
}

template <typename T>
ONWARD_INLINE T Towards(T from, T to, T weight) {
  return from + weight * (to - from);
}

// kMatrix: each element is a matrix of its own.
template <bool kMatrix, typename T>
StepSums ElementsSquares(const AdafactorNumbers<T>& numbers, const AdafactorArrays<T>& a,
                         int64_t begin, int64_t end) {
  constexpr int64_t kPiece = 512;
  const AdafactorNumbers<T> n = numbers;
  StepSums sums;
  T changes[kPiece];
  for (; begin < end; begin += kPiece) {
    const int64_t count = end - begin < kPiece ? end - begin : kPiece;
    const T *g = a.g + begin, *squares = a.row_squares + begin;
    const T* columns = kMatrix ? a.column_squares + begin : nullptr;
    T* next = a.next_row_squares + begin;
    T* next_columns = kMatrix ? a.next_column_squares + begin : nullptr;
    ONWARD_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
      T variance = next[i] = Towards(squares[i], g[i] * g[i], n.weight);
      if constexpr (kMatrix) {
        const T column = next_columns[i] = Towards(columns[i], g[i] * g[i], n.weight);
        variance = variance * column / AtLeast(variance, n.epsilon1);
      }
      changes[i] = g[i] / std::sqrt(AtLeast(variance, n.floor));
    }
    sums.parameter += SquaresOf(a.p + begin, count);
    sums.change += SquaresOf(changes, count);
  }
  return sums;
}

template <bool kMatrix, typename T>
void ElementsApply(const AdafactorNumbers<T>& numbers, T rate, const AdafactorArrays<T>& a,
                   int64_t begin, int64_t end) {
  const AdafactorNumbers<T> n = numbers;
  const T *p = a.p, *g = a.g, *squares = a.next_row_squares, *columns = a.next_column_squares;
  T* out = a.out;
  ONWARD_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) {
    T variance = squares[i];
    if constexpr (kMatrix) variance = variance * columns[i] / AtLeast(variance, n.epsilon1);
    out[i] = p[i] * n.shrink - rate * (g[i] / std::sqrt(AtLeast(variance, n.floor)));
  }
}

// As many tiny matrices as a line of the cache has elements, side by side: element e of matrix l at
// g[e][l]. Lanes beyond `count` may be anything.
template <typename T>
struct TinyMatrices {
  static constexpr int kSide = 64 / sizeof(T);
  using Lanes = T[kSide];
  Lanes g[kTinyMatrix], row_roots[kTinyMatrix], column_roots[kTinyMatrix];
  Lanes scale, most;
  int64_t rows, columns;
  int count;

  // Element i of each matrix's `each`, to[i][l] = from[l * each + i], and back.
  ONWARD_INLINE void Gather(const T* from, int64_t each, T missing, Lanes* to) const {
    if (count < kSide) {
      for (int64_t i = 0; i < each; ++i)
        for (int l = 0; l < kSide; ++l) to[i][l] = l < count ? from[l * each + i] : missing;
    } else if (each == 1) {
      for (int l = 0; l < kSide; ++l) to[0][l] = from[l];
    } else {
      for (int64_t i = 0; i < each; ++i)
        for (int l = 0; l < kSide; ++l) to[i][l] = from[l * each + i];
    }
  }
  ONWARD_INLINE void Scatter(const Lanes* from, int64_t each, T* to) const {
    if (count < kSide) {
      for (int l = 0; l < count; ++l)
        for (int64_t i = 0; i < each; ++i) to[l * each + i] = from[i][l];
    } else if (each == 1) {
      for (int l = 0; l < kSide; ++l) to[l] = from[0][l];
    } else {
      for (int64_t i = 0; i < each; ++i)
        for (int l = 0; l < kSide; ++l) to[l * each + i] = from[i][l];
    }
  }

  ONWARD_INLINE void Load(const AdafactorArrays<T>& a, int64_t first, int64_t end) {
    rows = a.rows;
    columns = a.columns;
    count = end - first < kSide ? static_cast<int>(end - first) : kSide;
    Gather(a.g + first * rows * columns, rows * columns, 0, g);
  }

  // The next means of squares, into the places of their roots.
  ONWARD_INLINE void NextSquares(const AdafactorNumbers<T>& n, const AdafactorArrays<T>& a,
                                 int64_t first) {
    Lanes sums[2 * kTinyMatrix];
    Lanes* column_sums = sums + rows;
    for (int64_t i = 0; i < rows + columns; ++i)
      for (int l = 0; l < kSide; ++l) sums[i][l] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const T* at = g[r * columns + c];
        ONWARD_INDEPENDENT
        for (int l = 0; l < kSide; ++l) {
          sums[r][l] += at[l] * at[l];
          column_sums[c][l] += at[l] * at[l];
        }
      }
    }
    Follow(n, sums, rows, columns, a.row_squares + first * rows, a.next_row_squares + first * rows,
           row_roots);
    Follow(n, column_sums, columns, rows, a.column_squares + first * columns,
           a.next_column_squares + first * columns, column_roots);
  }

  ONWARD_INLINE void Follow(const AdafactorNumbers<T>& n, const Lanes* sums, int64_t each,
                            int64_t added, const T* from, T* to, Lanes* squares) const {
    Gather(from, each, 1, squares);
    for (int64_t i = 0; i < each; ++i) {
      ONWARD_INDEPENDENT
      for (int l = 0; l < kSide; ++l)
        squares[i][l] = Towards(squares[i][l], sums[i][l] / static_cast<T>(added), n.weight);
    }
    Scatter(squares, each, to);
  }

  ONWARD_INLINE void LoadSquares(const AdafactorArrays<T>& a, int64_t first) {
    Gather(a.next_row_squares + first * rows, rows, 1, row_roots);
    Gather(a.next_column_squares + first * columns, columns, 1, column_roots);
  }

  // g becomes the change.
  ONWARD_INLINE void Divide(const AdafactorNumbers<T>& n) {
    Lanes mean;
    for (int l = 0; l < kSide; ++l) mean[l] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      ONWARD_INDEPENDENT
      for (int l = 0; l < kSide; ++l) {
        mean[l] += row_roots[r][l];
        row_roots[r][l] = 1 / std::sqrt(row_roots[r][l]);
      }
    }
    for (int64_t c = 0; c < columns; ++c) {
      ONWARD_INDEPENDENT
      for (int l = 0; l < kSide; ++l) column_roots[c][l] = 1 / std::sqrt(column_roots[c][l]);
    }
    ONWARD_INDEPENDENT
    for (int l = 0; l < kSide; ++l) {
      const T bound = AtLeast(mean[l] / static_cast<T>(rows), n.epsilon1);
      scale[l] = std::sqrt(bound);
      most[l] = 1 / std::sqrt(n.floor * bound);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        T* at = g[r * columns + c];
        ONWARD_INDEPENDENT
        for (int l = 0; l < kSide; ++l)
          at[l] *= scale[l] * AtMost(row_roots[r][l] * column_roots[c][l], most[l]);
      }
    }
  }
};

template <typename T>
StepSums TinySquares(const AdafactorNumbers<T>& n, const AdafactorArrays<T>& a, int64_t begin,
                     int64_t end) {
  TinyMatrices<T> tiny;
  StepSums sums;
  const int64_t size = a.rows * a.columns;
  for (; begin < end; begin += tiny.count) {
    tiny.Load(a, begin, end);
    tiny.NextSquares(n, a, begin);
    tiny.Divide(n);
    for (int64_t e = 0; e < size; ++e)
      for (int l = tiny.count; l < TinyMatrices<T>::kSide; ++l) tiny.g[e][l] = 0;
    sums.parameter += SquaresOf(a.p + begin * size, tiny.count * size);
    sums.change += SquaresOf(tiny.g[0], size * TinyMatrices<T>::kSide);
  }
  return sums;
}

template <typename T>
void TinyApply(const AdafactorNumbers<T>& n, T rate, const AdafactorArrays<T>& a, int64_t begin,
               int64_t end) {
  TinyMatrices<T> tiny;
  typename TinyMatrices<T>::Lanes parameters[kTinyMatrix];
  const int64_t size = a.rows * a.columns;
  for (; begin < end; begin += tiny.count) {
    tiny.Load(a, begin, end);
    tiny.LoadSquares(a, begin);
    tiny.Divide(n);
    const T* p = a.p + begin * size;
    T* out = a.out + begin * size;
    tiny.Gather(p, size, 0, parameters);
    for (int64_t e = 0; e < size; ++e) {
      ONWARD_INDEPENDENT
      for (int l = 0; l < TinyMatrices<T>::kSide; ++l)
        parameters[e][l] = parameters[e][l] * n.shrink - rate * tiny.g[e][l];
    }
    tiny.Scatter(parameters, size, out);
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
