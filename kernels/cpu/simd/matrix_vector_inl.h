#pragma once

#include "kernels/cpu/simd/matrix_vector.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline constexpr int kVectorRows = 4;    // whose loads are in flight together
inline constexpr int kVectorChains = 2;  // of additions of one row

template <int kRows>
ONWARD_INLINE void DotsWithVector(const float* a, int64_t a_row, const float* x, int64_t k,
                                  float* to) {
  Vec sums[kRows][kVectorChains] = {};
  int64_t i = 0;
  for (; i + kVectorChains * kLanes <= k; i += kVectorChains * kLanes) {
    ONWARD_UNROLL
    for (int c = 0; c < kVectorChains; ++c) {
      const Vec with = Load(x + i + c * kLanes);
      ONWARD_UNROLL
      for (int r = 0; r < kRows; ++r)
        sums[r][c] = Fma(Load(a + r * a_row + i + c * kLanes), with, sums[r][c]);
    }
  }
  for (; i < k; i += kLanes) {
    const int lanes = k - i < kLanes ? static_cast<int>(k - i) : kLanes;
    const Vec with = LoadLanes(x + i, lanes);
    ONWARD_UNROLL
    for (int r = 0; r < kRows; ++r)
      sums[r][0] = Fma(LoadLanes(a + r * a_row + i, lanes), with, sums[r][0]);
  }
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) to[r] = SumLanes(sums[r][0] + sums[r][1]);
}

inline void AllDotsWithVector(const float* a, int64_t a_row, int64_t rows, const float* x,
                              int64_t k, float* sums) {
  int64_t r = 0;
  for (; r + kVectorRows <= rows; r += kVectorRows)
    DotsWithVector<kVectorRows>(a + r * a_row, a_row, x, k, sums + r);
  for (; r < rows; ++r) DotsWithVector<1>(a + r * a_row, a_row, x, k, sums + r);
}

template <int kRows>
ONWARD_INLINE void AddSomeRows(const float* b, int64_t b_k, int64_t columns, const float* x,
                               float* sums) {
  Vec factors[kRows];
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) factors[r] = Set(x[r]);
  const auto add = [&](int64_t c, int lanes) ONWARD_LAMBDA_INLINE {
    Vec sum = factors[0] * LoadLanes(b + c, lanes);
    ONWARD_UNROLL
    for (int r = 1; r < kRows; ++r) sum = Fma(factors[r], LoadLanes(b + r * b_k + c, lanes), sum);
    StoreLanes(sums + c, LoadLanes(sums + c, lanes) + sum, lanes);
  };
  int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) add(c, kLanes);
  if (c < columns) add(c, static_cast<int>(columns - c));
}

inline void AddRowsTimes(const float* b, int64_t b_k, int64_t columns, const float* x, int64_t k,
                         float* sums) {
  int64_t i = 0;
  for (; i + kVectorRows <= k; i += kVectorRows)
    AddSomeRows<kVectorRows>(b + i * b_k, b_k, columns, x + i, sums);
  for (; i < k; ++i) AddSomeRows<1>(b + i * b_k, b_k, columns, x + i, sums);
}

const MatrixVector& MatrixVectors() {
  static constexpr MatrixVector kLoops = {AllDotsWithVector, AddRowsTimes};
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
