// The scale and zero point that belong to each element: per tensor, per axis or per block of an
// axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/elementwise.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

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

inline constexpr int64_t kQuantizeColumns = 512;

// Neighbouring elements [offset, offset + count); element i has the scale `scale + i * scale_step`.
struct QuantizeRow {
  int64_t offset, count, scale, scale_step;
};

// Scales and zero points (zero if there are none) as floats; a byte per element of the packed
// tensor, if any.
struct QuantizeScratch {
  float* scales;
  float* zeros;
  int8_t* unpacked;
};

// Checks the shapes of scale (input 1) and zero point (input 2), sets output 0, scratch and the
// state, a QuantizePlan. `quantized`: the type that may be packed.
absl::Status BindQuantization(BindContext& context, const QuantizeAttributes& attributes,
                              DType quantized);

QuantizeScratch PrepareScales(const RunContext& context, const QuantizePlan& plan);

// The types that the loaders below read: floats, 8-bit floats, integers up to 32 bits, packed ones.
bool CanLoad(DType dtype);
// Elements [begin, begin + count) of a tensor of an unpacked type.
void LoadDoubles(const TensorView& view, int64_t begin, int64_t count, double* out);
// The same for all types; packed types are given as one byte per element.
void LoadUnpacked(const TensorView& view, int64_t begin, int64_t count, float* out);

// Calls body(row) for rows of at most kQuantizeColumns elements that cover the tensor, in parallel.
template <typename Body>
void ForEachRow(const RunContext& context, const QuantizePlan& plan, const Body& body) {
  const int64_t pieces = (plan.inner + kQuantizeColumns - 1) / kQuantizeColumns;
  const int64_t blocks =
      plan.block > 0 ? plan.count / plan.block + (plan.count % plan.block != 0) : 1;
  const int64_t grain =
      std::max<int64_t>(1, 8192 / std::max<int64_t>(1, std::min(plan.inner, kQuantizeColumns)));
  context.ParallelFor(plan.outer * plan.count * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kQuantizeColumns, line = i / pieces;
      const int64_t index = line % plan.count, outer = line / plan.count;
      QuantizeRow row = {line * plan.inner + first, std::min(kQuantizeColumns, plan.inner - first),
                         0, 0};
      if (plan.block > 0) {
        row.scale = (outer * blocks + index / plan.block) * plan.inner + first;
        row.scale_step = 1;
      } else if (plan.num_scales > 1) {
        row.scale = index;
      }
      body(row);
    }
  });
}

}  // namespace onward::kernels::cpu
