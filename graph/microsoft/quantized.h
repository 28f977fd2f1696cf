// Steps that the formulas of quantized ops share.
#pragma once

#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {

// (x - zero) * scale in float32, per tensor unless `scale` has one value per index of `axis`.
inline Expr Dequantize(const Expr& x, const Expr& scale, const Expr& zero = {}, int64_t axis = 1) {
  return Op("DequantizeLinear", {x, scale, zero}, {{"axis", axis}});
}

// round(x / scale) + zero, saturated to `to`.
inline Expr Quantize(const Expr& x, const Expr& scale, const Expr& zero, DType to) {
  return Op("QuantizeLinear", {x, scale, zero}, {{"output_dtype", static_cast<int64_t>(to)}});
}

// From and to channels in the last axis.
std::vector<int64_t> ChannelsFirst(int64_t rank);
std::vector<int64_t> ChannelsLast(int64_t rank);

}  // namespace onward::microsoft
