#pragma once

#include "kernels/cpu/simd/conv_row.h"
#include "kernels/cpu/simd/gemm_sums_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <int kPixels, int kVecs, int kStride>
void RowProducts(const ConvRow& row) {
  GemmTile tile;
  tile.bias_of_column = row.bias;
  tile.c = row.sums;
  tile.c_row = kTileCols;
  const int last = row.filters - (kVecs - 1) * kLanes;
  TileSums<kPixels, kVecs> sums;
  StartSums(tile, last, sums);
  const float* w = row.w;
  const float* run = row.runs;
  for (int64_t i = 0; i < row.num_runs; ++i, run += row.run_floats) {
    for (int64_t tap = 0; tap < row.taps; ++tap, w += kTileCols) {
      Vec filters[kVecs];
      LoadRowOfB<kVecs, false>(w, last, filters);
      ONWARD_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        const Vec x = Set(run[tap + p * kStride]);
        ONWARD_UNROLL
        for (int v = 0; v < kVecs; ++v) sums.at[p][v] = Fma(x, filters[v], sums.at[p][v]);
      }
    }
  }
  StoreSums(tile, last, sums);
}

template <int kVecs, int kStride, int... P>
constexpr ConvRowFunction RowOfPixels(int pixels, std::integer_sequence<int, P...>) {
  constexpr ConvRowFunction kFunctions[] = {RowProducts<P + 1, kVecs, kStride>...};
  return kFunctions[pixels - 1];
}

template <int kStride>
void RowOfStride(const ConvRow& row) {
  using Pixels = std::make_integer_sequence<int, kTileRows>;
  (row.filters > kLanes ? RowOfPixels<2, kStride>(row.pixels, Pixels())
                        : RowOfPixels<1, kStride>(row.pixels, Pixels()))(row);
}

inline void AnyRow(const ConvRow& row) {
  row.stride == 1 ? RowOfStride<1>(row) : RowOfStride<2>(row);
}

ConvRowFunction ConvRowProducts() { return AnyRow; }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
