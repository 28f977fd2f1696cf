// QuantizeLinear and DequantizeLinear: the scale and zero point that belong to each element, per
// tensor, per axis or per block of an axis.
#pragma once

#include <cstdint>

#include "onward/kernel.h"

namespace onward::kernels {

struct QuantizeAttributes {
  explicit QuantizeAttributes(const NodeSpec& spec)
      : axis(spec.attributes().Int("axis", 1)), block(spec.attributes().Int("block_size", 0)) {}
  int64_t axis, block;
};

// The tensor as [outer, count, inner] with the axis in the middle; scales as [outer, blocks, inner]
// (blocked) or [count] (per axis) or one. Without an axis everything is `inner`.
struct QuantizePlan {
  int64_t outer = 1, count = 1, inner = 1;
  int64_t block = 0;       // elements of the axis per scale; 0: not blocked
  int64_t num_scales = 1;  // also of zero points
};

// Checks the shapes of scale (input 1) and zero point (input 2), sets output 0 and the state, a
// QuantizePlan, which it returns.
absl::StatusOr<const QuantizePlan*> BindQuantize(BindContext& context,
                                                 const QuantizeAttributes& attributes);

// Settles the outputs of DynamicQuantizeLinear: codes, scale and zero point.
void BindDynamicQuantize(BindContext& context);

}  // namespace onward::kernels
