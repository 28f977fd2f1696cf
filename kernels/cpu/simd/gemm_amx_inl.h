// Tiles of products of bfloat16 on the registers of AMX: 32 x 32 results.
#pragma once

#include "kernels/cpu/simd/amx_inl.h"
#include "kernels/cpu/simd/gemm_sums_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// The sums of a row are started, activated and stored as those of vectors are.
template <int kVecs>
void FinishRows(const GemmTile& t, const float* sums) {
  const int last = t.cols - (kVecs - 1) * kLanes;
  GemmTile row = t;
  bool activated = true;
  for (int r = 0; r < t.rows; ++r, sums += amx_tiles::kMost) {
    TileSums<1, kVecs> at;
    StartSums(row, last, at);
    ONWARD_UNROLL
    for (int v = 0; v < kVecs; ++v) at.at[0][v] += Load(sums + v * kLanes);
    activated = ActivateSums(t.activation, at);
    StoreSums(row, last, at);
    row.c += row.c_row;
    if (row.bias_of_row != nullptr) ++row.bias_of_row;
    if (row.residual != nullptr) row.residual += row.residual_row;
  }
  if (!activated) ActivateTile(t);
}

// Few rows are left to vectors: most of a register of A would be empty.
inline void AmxTile(const GemmTile& t) {
  if (t.rows <= kTileRows && t.b_runs == nullptr) return AnyTile(t);
  alignas(64) float sums[amx_tiles::kMost * amx_tiles::kMost];
  const amx_tiles::TileShape shape(t.rows, t.cols);
  const int64_t second = amx_tiles::kHalf * t.a_row;
  const int64_t fetched = t.fetch.step;  // lines of a step of kWords
  const auto step = [&](int64_t run, int64_t k0, int) ONWARD_LAMBDA_INLINE {
    const float* a = t.a + run * t.k + k0;
    const float* b = t.b + (t.b_runs == nullptr ? 0 : t.b_runs[run]) + k0 * t.b_k;
    for (int64_t i = 0; i < fetched; ++i)
      __builtin_prefetch(t.fetch.from + k0 * fetched + i * amx_tiles::kWords);
    return amx_tiles::TileStep{
        {reinterpret_cast<const char*>(a), reinterpret_cast<const char*>(a + second)},
        {4 * t.a_row, 4 * t.a_row},
        reinterpret_cast<const char*>(b),
        4 * t.b_k};
  };
  amx_tiles::ByHalves(shape, [&]<bool kRows2, bool kCols2>() ONWARD_LAMBDA_INLINE {
    amx_tiles::SumRuns<false, kRows2, kCols2>(shape, t.num_runs, t.k, reinterpret_cast<char*>(sums),
                                              step);
  });
  t.cols > kLanes ? FinishRows<2>(t, sums) : FinishRows<1>(t, sums);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
