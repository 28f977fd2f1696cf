#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/few_filters.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// Vectors of pixels whose sums the registers hold besides what they are made of.
constexpr int FewFiltersVectors(int filters) {
  const int vectors = (kRegisters - filters - 2) / (filters + 1);
  return vectors > 8 ? 8 : vectors;
}

// kVectors vectors of pixels from `pixel` on; of the last one, `last` lanes have a pixel.
template <int kFilters, int kVectors>
ONWARD_INLINE void SumFewFilters(const FewFiltersRow& row, int64_t pixel, int last,
                                 Vec (&sums)[kFilters][kVectors]) {
  for (int f = 0; f < kFilters; ++f) {
    for (int v = 0; v < kVectors; ++v) {
      sums[f][v] = Set(row.bias == nullptr ? 0.0f : row.bias[f]);
      if (row.residual == nullptr) continue;
      const float* residual = row.residual + f * row.filter_floats + pixel + v * kLanes;
      sums[f][v] += LoadLanes(residual, v + 1 == kVectors ? last : kLanes);
    }
  }
  const int64_t filter = row.channels * row.taps;
  const float* w = row.w;
  const float* x = row.x + pixel;
  for (int64_t c = 0; c < row.channels; ++c, x += row.channel_floats) {
    for (int64_t t = 0; t < row.taps; ++t, ++w) {
      const float* from = x + row.tap_offsets[t];
      Vec pixels[kVectors];
      ONWARD_UNROLL
      for (int v = 0; v < kVectors; ++v) pixels[v] = Load(from + v * kLanes);
      ONWARD_UNROLL
      for (int f = 0; f < kFilters; ++f) {
        const Vec weight = Set(w[f * filter]);
        ONWARD_UNROLL
        for (int v = 0; v < kVectors; ++v) sums[f][v] = Fma(pixels[v], weight, sums[f][v]);
      }
    }
  }
}

// Runs as many vectors at a time as there are pixels for, and stores sums; of the last vector only
// the lanes that have a pixel.
template <int kFilters, int kVectors>
ONWARD_INLINE void RunPixels(const FewFiltersRow& row, int64_t& pixel) {
  while (row.pixels - pixel > (kVectors - 1) * kLanes) {
    const int64_t left = row.pixels - pixel - (kVectors - 1) * kLanes;
    const int last = left < kLanes ? static_cast<int>(left) : kLanes;
    Vec sums[kFilters][kVectors];
    SumFewFilters<kFilters, kVectors>(row, pixel, last, sums);
    for (int f = 0; f < kFilters; ++f) {
      float* y = row.y + f * row.filter_floats + pixel;
      for (int v = 0; v + 1 < kVectors; ++v) Store(y + v * kLanes, sums[f][v]);
      StoreLanes(y + (kVectors - 1) * kLanes, sums[f][kVectors - 1], last);
    }
    pixel += kVectors * kLanes;
  }
}

template <int kFilters>
void RunFilters(const FewFiltersRow& row) {
  constexpr int kMost = FewFiltersVectors(kFilters);
  int64_t pixel = 0;
  RunPixels<kFilters, kMost>(row, pixel);
  if constexpr (kMost > 4) RunPixels<kFilters, 4>(row, pixel);
  if constexpr (kMost > 2) RunPixels<kFilters, 2>(row, pixel);
  RunPixels<kFilters, 1>(row, pixel);
}

// Applies the activation to the stored sums.
inline void ActivateRow(const FewFiltersRow& row) {
  if (row.activation.kind == Activation::kNone) return;
  WithActivation(row.activation, [&](auto activation) ONWARD_LAMBDA_INLINE {
    for (int f = 0; f < row.filters; ++f) {
      float* y = row.y + f * row.filter_floats;
      for (int64_t pixel = 0; pixel < row.pixels; pixel += kLanes) {
        const int64_t left = row.pixels - pixel;
        const int n = left < kLanes ? static_cast<int>(left) : kLanes;
        StoreLanes(y + pixel, activation(LoadLanes(y + pixel, n)), n);
      }
    }
  });
}

inline void AnyFilters(const FewFiltersRow& row) {
  static_assert(kMaxFewFilters == 4);
  (row.filters == 1   ? RunFilters<1>
   : row.filters == 2 ? RunFilters<2>
   : row.filters == 3 ? RunFilters<3>
                      : RunFilters<4>)(row);
  ActivateRow(row);
}

FewFiltersFunction FewFilters() { return AnyFilters; }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
