// Constant filters of convolutions of 8-bit integers, packed for the tiles of one instruction set.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/channels_last_plan.h"
#include "kernels/cpu/simd/int8_tile.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

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
