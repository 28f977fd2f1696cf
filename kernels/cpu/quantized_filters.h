// Constant filters of convolutions of 8-bit integers, packed for the tiles of one instruction set.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/simd/int8_tile.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// The runs of a window over an image with its channels last: side by side lie the channels of a
// pixel, and those of neighbouring pixels where the kernel has no gaps and takes all channels.
struct FilterRuns {
  int64_t count = 1;     // of a window
  int64_t elements = 0;  // of a run
  bool merged = false;   // a run is a row of the kernel, and else a tap
};
FilterRuns RunsOf(int64_t kernel_h, int64_t kernel_w, bool merged, int64_t channels);

struct PackedFilters {
  Tensor panels;  // uint8, [group, panel], see int8_tile.h
  Tensor sums;    // int32, [filter], of the elements as packed
};

// `w` is [filter][channel][tap], of one or two spatial axes; `groups` divides its filters.
// ResourceExhausted: no memory.
absl::StatusOr<PackedFilters> PackFilters(const Int8TileKernels& tiles, const Tensor& w,
                                          int64_t groups, bool merged);

}  // namespace onward::kernels::cpu
