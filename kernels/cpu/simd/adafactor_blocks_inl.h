// Adafactor's loops over blocks of large matrices: some rows at a time, so that what belongs to
// columns is read once for all of them.
#pragma once

#include "kernels/cpu/simd/adafactor_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <typename T>
struct Wide {
  static constexpr int64_t kWidth = 4 * kLanes / static_cast<int64_t>(sizeof(T));
  typedef T Vector __attribute__((vector_size(4 * kLanes)));
  typedef T Memory __attribute__((vector_size(4 * kLanes), aligned(sizeof(T)), may_alias));
  static ONWARD_INLINE Vector Load(const T* x) { return *reinterpret_cast<const Memory*>(x); }
  static ONWARD_INLINE void Store(T* x, Vector v) { *reinterpret_cast<Memory*>(x) = v; }
  static ONWARD_INLINE T Sum(Vector v) {
    T sums[kWidth];
    Store(sums, v);
    ONWARD_UNROLL
    for (int64_t half = kWidth / 2; half > 0; half /= 2)
      for (int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    return sums[0];
  }
};

// Adds to the columns' sums.
template <int kRows, typename T>
ONWARD_INLINE void SquareRows(const T* g, int64_t stride, int64_t columns, T* row_sums,
                              T* column_sums) {
  using W = Wide<T>;
  typename W::Vector sums[kRows] = {};
  int64_t c = 0;
  for (; c + W::kWidth <= columns; c += W::kWidth) {
    typename W::Vector column = W::Load(column_sums + c);
    ONWARD_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const T* at = g + r * stride + c;
      __builtin_prefetch(at + kRows * stride);  // the rows that follow
      const typename W::Vector v = W::Load(at), square = v * v;
      sums[r] += square;
      column += square;
    }
    W::Store(column_sums + c, column);
  }
  for (int r = 0; r < kRows; ++r) row_sums[r] = W::Sum(sums[r]);
  for (; c < columns; ++c) {
    T column = column_sums[c];
    for (int r = 0; r < kRows; ++r) {
      const T square = g[r * stride + c] * g[r * stride + c];
      row_sums[r] += square;
      column += square;
    }
    column_sums[c] = column;
  }
}

template <typename T>
double BlockSquares(const AdafactorBlock<T>& b, T* row_sums, T* column_sums) {
  constexpr int kRows = 4;
  for (int64_t c = 0; c < b.columns; ++c) column_sums[c] = 0;
  int64_t r = 0;
  for (; r + kRows <= b.rows; r += kRows)
    SquareRows<kRows>(b.g + r * b.stride, b.stride, b.columns, row_sums + r, column_sums);
  for (; r < b.rows; ++r)
    SquareRows<1>(b.g + r * b.stride, b.stride, b.columns, row_sums + r, column_sums);
  if (b.columns == b.stride) return SquaresOf(b.p, b.rows * b.columns);
  double parameter = 0;
  for (r = 0; r < b.rows; ++r) parameter += SquaresOf(b.p + r * b.stride, b.columns);
  return parameter;
}

template <typename T>
void InverseRoots(const T* x, int64_t count, T* roots) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) roots[i] = 1 / std::sqrt(x[i]);
}

template <int kRows, typename T>
ONWARD_INLINE double ChangesOfRows(const T* g, int64_t stride, int64_t columns, const T* row_roots,
                                   const T* column_roots, T most) {
  using W = Wide<T>;
  typename W::Vector sums[kRows] = {};
  int64_t c = 0;
  for (; c + W::kWidth <= columns; c += W::kWidth) {
    const typename W::Vector column = W::Load(column_roots + c);
    ONWARD_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const typename W::Vector root = row_roots[r] * column;
      const typename W::Vector bounded = root > most ? most - typename W::Vector{} : root;
      const T* at = g + r * stride + c;
      __builtin_prefetch(at + kRows * stride);
      const typename W::Vector change = W::Load(at) * bounded;
      sums[r] += change * change;
    }
  }
  T sum = 0;
  for (int r = 0; r < kRows; ++r) sum += W::Sum(sums[r]);
  for (; c < columns; ++c) {
    for (int r = 0; r < kRows; ++r) {
      const T change = g[r * stride + c] * AtMost(row_roots[r] * column_roots[c], most);
      sum += change * change;
    }
  }
  return static_cast<double>(sum);
}

template <typename T>
double BlockChanges(const AdafactorBlock<T>& b, const AdafactorRoots<T>& roots) {
  constexpr int kRows = 4;
  double sum = 0;
  int64_t r = 0;
  for (; r + kRows <= b.rows; r += kRows) {
    sum += ChangesOfRows<kRows>(b.g + r * b.stride, b.stride, b.columns, roots.row_roots + r,
                                roots.column_roots, roots.most);
  }
  for (; r < b.rows; ++r) {
    sum += ChangesOfRows<1>(b.g + r * b.stride, b.stride, b.columns, roots.row_roots + r,
                            roots.column_roots, roots.most);
  }
  return sum;
}

template <typename T>
void BlockApply(const AdafactorBlock<T>& b, const AdafactorRoots<T>& roots, T shrink, T rate) {
  const T* column_roots = roots.column_roots;
  const T most = roots.most;
  for (int64_t r = 0; r < b.rows; ++r) {
    const T *p = b.p + r * b.stride, *g = b.g + r * b.stride;
    T* out = b.out + r * b.stride;
    const T row = roots.row_roots[r];
    ONWARD_INDEPENDENT
    for (int64_t c = 0; c < b.columns; ++c)
      out[c] = p[c] * shrink - rate * (g[c] * AtMost(row * column_roots[c], most));
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
