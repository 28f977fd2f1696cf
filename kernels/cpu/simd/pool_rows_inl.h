#pragma once

#include "kernels/cpu/simd/pool_indices_inl.h"
#include "kernels/cpu/simd/pool_ops_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// The elements at `x` of all rows, combined; kCount > 0: of so many rows at one base.
template <typename Op, int kCount>
ONWARD_INLINE Vec CombineTaps(const float* x, const RowTaps& taps, int lanes) {
  Vec v = Set(Op::Identity());
  const int64_t bases = kCount > 0 ? 1 : taps.num_bases;
  const int64_t count = kCount > 0 ? kCount : taps.count;
  for (int64_t b = 0; b < bases; ++b) {
    const float* row = x + taps.bases[b] + taps.first;
    for (int64_t k = 0; k < count; ++k, row += taps.step)
      v = Op::Combine(v, Op::Map(LoadLanes(row, lanes)));
  }
  return v;
}

// to[i] = the rows combined, for i < columns.
template <typename Op, int kCount>
ONWARD_INLINE void CombineRows(const float* x, const RowTaps& taps, int64_t columns, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes)
    Store(to + i, CombineTaps<Op, kCount>(x + i, taps, kLanes));
  if (i == columns) return;
  const int rest = static_cast<int>(columns - i);
  StoreN(to + i, CombineTaps<Op, kCount>(x + i, taps, rest), rest);
}
template <typename Op>
ONWARD_INLINE void CombineRows(const float* x, const RowTaps& taps, int64_t columns, float* to) {
  if (taps.num_bases == 1 && taps.count == 3) return CombineRows<Op, 3>(x, taps, columns, to);
  CombineRows<Op, 0>(x, taps, columns, to);
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

template <typename Op>
ONWARD_INLINE void StorePooled(Vec v, const PoolAxis& columns, float divisor, int64_t at, int lanes,
                               float* y) {
  if constexpr (Op::kDivides) v = v / (LoadLanes(columns.counts + at, lanes) * divisor);
  StoreLanes(y + at, Op::Finish(v), lanes);
}

// `taps`: where in the phases the taps of the first window lie; kCount > 0: so many.
template <typename Op, int kCount>
ONWARD_INLINE void CombineColumns(const float* phases, const int64_t* taps, const PoolAxis& columns,
                                  float divisor, float* y) {
  const int64_t count = kCount > 0 ? kCount : columns.kernel;
  const auto combine = [&](int64_t i, int lanes) ONWARD_LAMBDA_INLINE {
    Vec v = Set(Op::Identity());
    for (int64_t k = 0; k < count; ++k) v = Op::Combine(v, Load(phases + taps[k] + i));
    StorePooled<Op>(v, columns, divisor, i, lanes, y);
  };
  int64_t i = 0;
  for (; i + kLanes <= columns.output; i += kLanes) combine(i, kLanes);
  if (i < columns.output) combine(i, static_cast<int>(columns.output - i));
}
template <typename Op>
ONWARD_INLINE void CombineColumns(const float* phases, const int64_t* taps, const PoolAxis& columns,
                                  float divisor, float* y) {
  if (columns.kernel == 3) return CombineColumns<Op, 3>(phases, taps, columns, divisor, y);
  CombineColumns<Op, 0>(phases, taps, columns, divisor, y);
}

// Windows that are pairs of columns beside each other, which need no copy of the row.
ONWARD_INLINE bool ArePairs(const PoolAxis& columns) {
  return columns.kernel == 2 && columns.stride == 2 && columns.dilation == 1 && columns.pad == 0 &&
         2 * columns.output <= columns.input;
}
template <typename Op>
ONWARD_INLINE void CombinePairs(const float* x, const RowTaps& taps, const PoolAxis& columns,
                                float* y) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
  const auto pairs = [&](int64_t i, int n, int low) ONWARD_LAMBDA_INLINE {
    const Vec a = CombineTaps<Op, 0>(x + 2 * i, taps, low);
    const Vec b = CombineTaps<Op, 0>(x + 2 * i + low, taps, 2 * n - low);
    StorePooled<Op>(Op::Combine(EvenLanes(a, b, kAll), OddLanes(a, b, kAll)), columns, taps.divisor,
                    i, n, y);
  };
  int64_t i = 0;
  for (; i + kLanes <= columns.output; i += kLanes) pairs(i, kLanes, kLanes);
  const int rest = static_cast<int>(columns.output - i);
  if (rest > 0) pairs(i, rest, 2 * rest < kLanes ? 2 * rest : kLanes);
}

template <typename Op>
void Pool(const PoolRows& p, int64_t begin, int64_t end, float* scratch) {
  const PoolAxis& columns = p.axes[p.num_axes - 1];
  RowTaps row;
  row.bases = reinterpret_cast<int64_t*>(scratch);
  if (ArePairs(columns)) {
    for (int64_t r = begin; r < end; ++r) {
      SetRow(p, begin, r, row);
      CombinePairs<Op>(p.x, row, columns, p.y + r * columns.output);
    }
    return;
  }
  int64_t* taps = row.bases + p.bases;
  for (int64_t k = 0; k < columns.kernel; ++k) {
    const int64_t tap = k * columns.dilation;
    taps[k] = tap % columns.stride * p.phase_length + tap / columns.stride;
  }
  const int64_t length = p.phase_length * columns.stride;
  float* rows = reinterpret_cast<float*>(taps + columns.kernel);
  float* phases = columns.stride == 1 ? rows : rows + p.block_rows * length;
  for (int64_t i = 0; i < p.block_rows * length; ++i) rows[i] = Op::Identity();
  float divisors[kMostBlockRows];
  for (int64_t r = begin; r < end; r += p.block_rows) {
    const int64_t n = end - r < p.block_rows ? end - r : p.block_rows;
    for (int64_t b = 0; b < n; ++b) {
      SetRow(p, begin, r + b, row);
      divisors[b] = row.divisor;
      CombineRows<Op>(p.x, row, columns.input, rows + b * length + columns.pad);
    }
    for (int64_t b = 0; b < n && columns.stride != 1; ++b)
      SplitPhases(rows + b * length, columns.stride, p.phase_length, phases + b * length);
    for (int64_t b = 0; b < n; ++b)
      CombineColumns<Op>(phases + b * length, taps, columns, divisors[b],
                         p.y + (r + b) * columns.output);
  }
}

const PoolRowLoops& RowPools() {
  static constexpr PoolRowLoops kLoops = {Pool<PooledMax>, Pool<PooledAverage>,
                                          Pool<PooledMagnitudes>, Pool<PooledSquares>,
                                          MaxWithIndices};
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
