#pragma once

#include "kernels/cpu/simd/copy_run_inl.h"
#include "kernels/cpu/simd/pool_plane.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// NaN if either is.
struct PooledMax {
  static ONWARD_INLINE float Identity() { return -__builtin_inff(); }
  static ONWARD_INLINE Vec Combine(Vec a, Vec b) { return Select(a != a, a, Max(a, b)); }
  static ONWARD_INLINE float Combine(float a, float b) { return a != a || a > b ? a : b; }
};
struct PooledSum {
  static ONWARD_INLINE float Identity() { return 0.0f; }
  static ONWARD_INLINE Vec Combine(Vec a, Vec b) { return a + b; }
  static ONWARD_INLINE float Combine(float a, float b) { return a + b; }
};

// to[i] = the rows [first, last), `row` apart, combined, for i < columns.
template <typename Op>
ONWARD_INLINE void CombineRows(const float* x, int64_t row, int64_t first, int64_t last,
                               int64_t columns, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    Vec v = Set(Op::Identity());
    for (int64_t r = first; r < last; ++r) v = Op::Combine(v, Load(x + r * row + i));
    Store(to + i, v);
  }
  if (i == columns) return;
  const int rest = static_cast<int>(columns - i);
  Vec v = Set(Op::Identity());
  for (int64_t r = first; r < last; ++r) v = Op::Combine(v, LoadN(x + r * row + i, rest));
  StoreN(to + i, v, rest);
}

// phases[p * length + i] = row[i * 4 + p] for whole vectors of i; returns their end.
ONWARD_INLINE int64_t SplitFourPhases(const float* row, int64_t length, float* phases) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    const float* from = row + 4 * i;
    const Vec a = Load(from), b = Load(from + kLanes);
    const Vec c = Load(from + 2 * kLanes), d = Load(from + 3 * kLanes);
    const Vec even_low = EvenLanes(a, b, kAll), even_high = EvenLanes(c, d, kAll);
    const Vec odd_low = OddLanes(a, b, kAll), odd_high = OddLanes(c, d, kAll);
    Store(phases + i, EvenLanes(even_low, even_high, kAll));
    Store(phases + length + i, EvenLanes(odd_low, odd_high, kAll));
    Store(phases + 2 * length + i, OddLanes(even_low, even_high, kAll));
    Store(phases + 3 * length + i, OddLanes(odd_low, odd_high, kAll));
  }
  return i;
}

// phases[p * length + i] = row[i * stride + p].
ONWARD_INLINE void SplitPhases(const float* row, int64_t stride, int64_t length, float* phases) {
  if (stride == 2) {
    float* odd = phases + length;
    for (int64_t i = 0; i < length; ++i) {
      phases[i] = row[2 * i];
      odd[i] = row[2 * i + 1];
    }
    return;
  }
  const int64_t done = stride == 4 ? SplitFourPhases(row, length, phases) : 0;
  for (int64_t p = 0; p < stride; ++p) {
    for (int64_t i = done; i < length; ++i) phases[p * length + i] = row[i * stride + p];
  }
}

template <typename Op, bool kAverage>
ONWARD_INLINE void Pool(const PoolPlane& p, float* scratch) {
  const int64_t stride = p.stride_columns;
  const int64_t reach =
      (p.out_columns - 1) * stride + (p.kernel_columns - 1) * p.dilation_columns + 1;
  const int64_t used = p.pad_columns + p.in_columns;
  // Every phase is read for whole vectors of outputs.
  const int64_t length = ((reach > used ? reach : used) + stride - 1) / stride + kLanes;
  float* row = scratch;
  float* phases = stride == 1 ? row : scratch + length * stride;
  for (int64_t i = 0; i < length * stride; ++i) row[i] = Op::Identity();
  for (int64_t o = 0; o < p.out_rows; ++o) {
    const int64_t start = o * p.stride_rows - p.pad_rows;
    int64_t first = start >= 0 ? 0 : (-start + p.dilation_rows - 1) / p.dilation_rows;
    int64_t last =
        start >= p.in_rows ? 0 : (p.in_rows - start + p.dilation_rows - 1) / p.dilation_rows;
    if (last > p.kernel_rows) last = p.kernel_rows;
    if (first > last) first = last;
    CombineRows<Op>(p.x + start * p.in_columns, p.dilation_rows * p.in_columns, first, last,
                    p.in_columns, row + p.pad_columns);
    if (stride != 1) SplitPhases(row, stride, length, phases);
    float* y = p.y + o * p.out_columns;
    for (int64_t i = 0; i < p.out_columns; i += kLanes) {
      Vec v = Set(Op::Identity());
      for (int64_t k = 0; k < p.kernel_columns; ++k) {
        const int64_t tap = k * p.dilation_columns;
        v = Op::Combine(v, Load(phases + tap % stride * length + tap / stride + i));
      }
      const int64_t rest = p.out_columns - i;
      const int lanes = rest < kLanes ? static_cast<int>(rest) : kLanes;
      if constexpr (kAverage) v = v / (LoadN(p.column_counts + i, lanes) * p.row_counts[o]);
      if (lanes == kLanes) {
        Store(y + i, v);
      } else {
        StoreN(y + i, v, lanes);
      }
    }
  }
}

inline void MaxPool(const PoolPlane& plane, float* scratch) {
  Pool<PooledMax, false>(plane, scratch);
}
inline void AveragePool(const PoolPlane& plane, float* scratch) {
  Pool<PooledSum, true>(plane, scratch);
}

template <typename Op>
ONWARD_INLINE float Reduce(const float* x, int64_t count) {
  Vec sums[4];
  for (Vec& sum : sums) sum = Set(Op::Identity());
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    ONWARD_UNROLL
    for (int s = 0; s < 4; ++s) sums[s] = Op::Combine(sums[s], Load(x + i + s * kLanes));
  }
  for (; i + kLanes <= count; i += kLanes) sums[0] = Op::Combine(sums[0], Load(x + i));
  const Vec sum = Op::Combine(Op::Combine(sums[0], sums[1]), Op::Combine(sums[2], sums[3]));
  float lanes[kLanes];
  Store(lanes, sum);
  float result = Op::Identity();
  for (int lane = 0; lane < kLanes; ++lane) result = Op::Combine(result, lanes[lane]);
  for (; i < count; ++i) result = Op::Combine(result, x[i]);
  return result;
}

inline float Largest(const float* x, int64_t count) { return Reduce<PooledMax>(x, count); }
inline float Sum(const float* x, int64_t count) { return Reduce<PooledSum>(x, count); }

// Neighbouring columns of `n` windows, apart.
struct ColumnPairs {
  Vec even, odd;
};
ONWARD_INLINE ColumnPairs LoadColumns(const float* x, int n) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
  const int low = 2 * n < kLanes ? 2 * n : kLanes;
  const Vec a = LoadLanes(x, low), b = LoadLanes(x + low, 2 * n - low);
  return {EvenLanes(a, b, kAll), OddLanes(a, b, kAll)};
}
ONWARD_INLINE void StoreColumns(float* x, ColumnPairs c, int n) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
  const int low = 2 * n < kLanes ? 2 * n : kLanes;
  StoreLanes(x, Interleave<0>(c.even, c.odd, kAll), low);
  StoreLanes(x + low, Interleave<kLanes / 2>(c.even, c.odd, kAll), 2 * n - low);
}

// Lanes where b comes after a, the largest so far.
ONWARD_INLINE IVec IsLarger(Vec b, Vec a) { return ~(b <= a) & (a == a); }

inline void MaxGradientOfSquares(const PoolPlane& p, float* dx) {
  const int64_t rest = p.in_columns - 2 * p.out_columns;
  for (int64_t o = 0; o < p.out_rows; ++o, dx += 2 * p.in_columns) {
    const float* x = p.x + 2 * o * p.in_columns;
    for (int64_t i = 0; i < p.out_columns; i += kLanes) {
      const int n = p.out_columns - i < kLanes ? static_cast<int>(p.out_columns - i) : kLanes;
      const ColumnPairs top = LoadColumns(x + 2 * i, n);
      const ColumnPairs bottom = LoadColumns(x + p.in_columns + 2 * i, n);
      const IVec second = IsLarger(top.odd, top.even);
      Vec largest = Select(second, top.odd, top.even);
      const IVec third = IsLarger(bottom.even, largest);
      largest = Select(third, bottom.even, largest);
      const IVec fourth = IsLarger(bottom.odd, largest);
      const Vec dy = LoadLanes(p.dy + o * p.out_columns + i, n), zero = {};
      const Vec upper = Select(third | fourth, zero, dy);
      StoreColumns(dx + 2 * i, {Select(second, zero, upper), Select(second, upper, zero)}, n);
      StoreColumns(dx + p.in_columns + 2 * i,
                   {Select(third & ~fourth, dy, zero), Select(fourth, dy, zero)}, n);
    }
    for (int64_t i = 0; i < rest; ++i)
      dx[2 * p.out_columns + i] = dx[p.in_columns + 2 * p.out_columns + i] = 0.0f;
  }
  for (int64_t i = 0; i < (p.in_rows - 2 * p.out_rows) * p.in_columns; ++i) dx[i] = 0.0f;
}

template <typename T>
void Greater(const T* __restrict x, int64_t count, T* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
}

const PoolPlaneKernels& Pools() {
  static constexpr PoolPlaneKernels kKernels = {
      MaxPool, AveragePool, Largest, Sum, MaxGradientOfSquares, Greater<uint8_t>, Greater<int8_t>};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
