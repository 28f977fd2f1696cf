#pragma once

#include "kernels/cpu/simd/conv_row.h"
#include "kernels/cpu/simd/gemm_sums_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// Adds one tap of each pixel; x points to that of the first pixel.
template <int kStride, int kPixels, int kVecs>
ONWARD_INLINE void AddPixels(const float* x, const float* w, int last,
                             TileSums<kPixels, kVecs>& sums) {
  // Else compilers see that the next tap reads most of these pixels again, and carry them in
  // registers: more instructions than broadcasts from memory, which cost nothing.
  asm("" : "+r"(x));
  Vec filters[kVecs];
  LoadRowOfB<kVecs, false>(w, last, filters);
  MultiplyStep<kPixels, kVecs, false>(x, kStride, filters, sums);
}

// kTaps is the number of taps in a row; 0 stands for any number.
template <int kTaps, int kStride, int kPixels, int kVecs>
ONWARD_INLINE void AddTaps(const ConvRow& row, int last, TileSums<kPixels, kVecs>& sums) {
  const int64_t kernel_h = row.kernel_h;
  const float *channel = row.x, *w = row.w;
  for (int64_t c = 0; c < row.channels; ++c, channel += row.channel_floats) {
    const float* x = channel;
    for (int64_t ky = 0; ky < kernel_h; ++ky, x += row.row_floats) {
      if constexpr (kTaps > 0) {
        ONWARD_UNROLL
        for (int t = 0; t < kTaps; ++t) AddPixels<kStride>(x + t, w + t * kTileCols, last, sums);
        w += kTaps * kTileCols;
      } else {
        for (int64_t t = 0; t < row.kernel_w; ++t, w += kTileCols)
          AddPixels<kStride>(x + t, w, last, sums);
      }
    }
  }
}

template <int kPixels, int kVecs, int kStride>
void RowProducts(const ConvRow& row) {
  GemmTile tile;
  tile.bias_of_column = row.bias;
  tile.c = row.sums;
  tile.c_row = kTileCols;
  const int last = row.filters - (kVecs - 1) * kLanes;
  TileSums<kPixels, kVecs> sums;
  StartSums(tile, last, sums);
  row.kernel_w == 3 ? AddTaps<3, kStride>(row, last, sums) : AddTaps<0, kStride>(row, last, sums);
  StoreSums(tile, last, sums);
}

template <int kVecs, int kStride, int... P>
constexpr ConvRowFunction RowOfPixels(int pixels, std::integer_sequence<int, P...>) {
  constexpr ConvRowFunction kFunctions[] = {RowProducts<P + 1, kVecs, kStride>...};
  return kFunctions[pixels - 1];
}

template <int kStride>
void RowOfStride(const ConvRow& row) {
  using OfOne = std::make_integer_sequence<int, MaxRowPixels(kTileRows, true)>;
  using OfTwo = std::make_integer_sequence<int, MaxRowPixels(kTileRows, false)>;
  (row.filters > kLanes ? RowOfPixels<2, kStride>(row.pixels, OfTwo())
                        : RowOfPixels<1, kStride>(row.pixels, OfOne()))(row);
}

inline void AnyRow(const ConvRow& row) {
  row.stride == 1 ? RowOfStride<1>(row) : RowOfStride<2>(row);
}

ConvRowFunction ConvRowProducts() { return AnyRow; }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
