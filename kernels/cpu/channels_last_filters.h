// Constant filters of convolutions with channels last, packed for the tiles of one instruction set.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/channels_last_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/simd/channels_last_product.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// The channels that tiles read of a pixel: units are of one pixel.
constexpr int64_t ChannelsOfUnits(const RunTileSizes& sizes, int64_t channels) {
  return CeilDiv(channels, sizes.unit) * sizes.unit;
}

// The units that a panel has of a run of `elements`, and where the last step of them begins in the
// run (RunProduct::last_unit). A run that is longer than a step, but not of whole ones, ends with a
// step of its last units.
struct PanelUnits {
  int64_t padded, last;
};
inline PanelUnits UnitsOfPanel(const ChannelsLastProducts& products, int64_t elements) {
  const int64_t units = elements / products.sizes.unit, step = products.step_units;
  if (units <= step || units % step == 0) return {units, INT64_MAX};
  return {(units + step - 1) / step * step, units - step};
}

// `w` is [filter][channel][tap], float32, of two spatial axes; `groups` divides its filters.
// [group][panel][run][unit][tile_cols], or [panel][tap][tile_cols] of kDepthwise.
// ResourceExhausted: no memory.
absl::StatusOr<Tensor> PackChannelsLastFilters(const ChannelsLastProducts& products, Target target,
                                               const Tensor& w, int64_t groups, FilterForm form);

}  // namespace onward::kernels::cpu
