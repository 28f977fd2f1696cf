// The attributes and shapes of onward.ConvWeightGradient.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/bind/window.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct ConvWeightAttributes {
  Dims kernel, strides, dilations, pads;  // of one or two spatial axes; pads at the begin
  int64_t group = 1;

  static absl::StatusOr<ConvWeightAttributes> Parse(const NodeSpec& spec);
  // The convolution's windows. InvalidArgument: X and dY do not fit each other or the attributes.
  absl::StatusOr<WindowAxes> Axes(DimsView x, DimsView dy) const;
  // [filters, channels / group, kernel...]
  Dims OutputDims(DimsView x, DimsView dy) const;
};

}  // namespace onward::kernels
