// Constant filters of convolutions of 8-bit integers, packed for the tiles of one instruction set.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/simd/int8_tile.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// The kinds of runs of a window over an image with its channels last.
enum class FilterForm : uint8_t {
  kRows,       // a row of the kernel, all its channels: no dilation along it, one group
  kTaps,       // a tap, the channels of a group
  kDepthwise,  // a tap of one channel, with a filter a channel
};

struct FilterRuns {
  int64_t count = 1;     // of a window
  int64_t per_row = 1;   // of them
  int64_t elements = 0;  // of a run
};
// `channels`: of a group.
FilterRuns RunsOf(int64_t kernel_h, int64_t kernel_w, FilterForm form, int64_t channels);

struct PackedFilters {
  Tensor panels;  // uint8, [group, panel], see int8_tile.h
  Tensor sums;    // int32, [filter], of the elements as packed
};

// `w` is [filter][channel][tap], of one or two spatial axes; `groups` divides its filters; `form`
// is not kDepthwise.
// ResourceExhausted: no memory.
absl::StatusOr<PackedFilters> PackFilters(const Int8TileKernels& tiles, const Tensor& w,
                                          int64_t groups, FilterForm form);

// Filters [channel, 1, taps] less their `zeros` (null: none; one, or one a channel), as int32 with
// the upper half zero: [panel][tap][tile_cols].
absl::StatusOr<PackedFilters> PackDepthwise(const Int8TileKernels& tiles, const Tensor& w,
                                            const Tensor* zeros);

}  // namespace onward::kernels::cpu
