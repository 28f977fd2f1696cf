// The filters of a float32 convolution, packed in the order in which its products read them.
#pragma once

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "graph/base/conv_taps.h"
#include "graph/base/tensor.h"
#include "kernels/cpu/conv_plan.h"

namespace onward::cpu {

// W [filters, k] of each group in the order in which `form` reads it.
absl::StatusOr<Tensor> PackFilters(const GemmTileKernels& tiles, ConvForm form, const Tensor& w,
                                   int64_t groups);

// Filters of a group as PackFilters lays them, those that fill the last panel included.
int64_t PackedFilters(const GemmTileKernels& tiles, ConvForm form, int64_t filters);

// Along one to three axes: the taps that are kept, of how many.
struct KeptTaps {
  TapRange range;
  int64_t of = 1;
};
using TapRanges = absl::InlinedVector<KeptTaps, 3>;

// Narrows kernels and padding to the taps that meet the input; empty where all do.
TapRanges NarrowToLiveTaps(WindowAxes& axes);

struct FilterCounts {
  int64_t groups, filters, channels;  // filters and channels of one group
};
// Copies what PackFilters made to `live` (PackedFilters of each group, with their channels and kept
// taps), leaving the other taps out.
void CopyLiveFilters(const GemmTileKernels& tiles, ConvForm form, const float* packed,
                     FilterCounts counts, const TapRanges& taps, float* live);

}  // namespace onward::cpu
