// Scales, zero points and elements of QuantizeLinear and DequantizeLinear as the reference computes
// with them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/bind/quantize.h"
#include "kernels/cpu/elementwise.h"

namespace onward::kernels::cpu {

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

// BindQuantize, and scratch. `quantized`: the type that may be packed.
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
