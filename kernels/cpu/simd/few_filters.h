// The inner kernel of convolutions with few filters: some of them for the pixels of one output row.
// Pixels lie along the vectors, and each vector of them serves all those filters.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

inline constexpr int kMaxFewFilters = 4;

struct FewFiltersRow {
  int filters = 0;     // 1 .. kMaxFewFilters
  int64_t pixels = 0;  // of the row
  // Tap t of pixel p of a channel: x[channel * channel_floats + tap_offsets[t] + p]. A vector's
  // lanes may be read beyond the row.
  const float* x = nullptr;
  int64_t channels = 0, channel_floats = 0;
  int64_t taps = 0;
  const int64_t* tap_offsets = nullptr;
  const float* w = nullptr;     // [filters][channels][taps]
  const float* bias = nullptr;  // [filters], or null
  // Rows of filters are filter_floats apart; residual may be null, or y.
  const float* residual = nullptr;
  float* y = nullptr;
  int64_t filter_floats = 0;
  ActivationSpec activation;
};

using FewFiltersFunction = void (*)(const FewFiltersRow& row);

ONWARD_PER_TARGET(kVectorLoops, FewFiltersFunction, FewFilters, ())

}  // namespace onward::kernels::cpu
