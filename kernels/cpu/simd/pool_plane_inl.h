#pragma once

#include "kernels/cpu/simd/copy_run_inl.h"
#include "kernels/cpu/simd/pool_ops_inl.h"
#include "kernels/cpu/simd/pool_plane.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

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
  static constexpr PoolPlaneKernels kKernels = {Largest, Sum, MaxGradientOfSquares,
                                                Greater<uint8_t>, Greater<int8_t>};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
