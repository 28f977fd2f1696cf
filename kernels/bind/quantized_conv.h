// The geometry of ConvInteger and QLinearConv.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/bind/conv.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Which inputs hold what; -1 for none.
struct QuantizedConvInputs {
  int w, x_zero, w_zero, bias;
};
inline constexpr QuantizedConvInputs kConvIntegerInputs = {1, 2, 3, -1};
inline constexpr QuantizedConvInputs kQLinearConvInputs = {3, 2, 5, 8};

// ConvGeometry, kept in a binding.
struct QuantizedConvSizes {
  absl::Span<const WindowAxis> axes;
  int64_t batch = 0, channels = 0, filters = 0, group = 1;
  int64_t kernel_size = 0, image_size = 0, positions = 0;  // of one channel: W's, X's, Y's
};

// Keep QuantizedConvSizes as the state and settle output 0.
absl::Status BindConvInteger(BindContext& context, const ConvAttributes& attributes);
absl::Status BindQLinearConv(BindContext& context, const ConvAttributes& attributes);

}  // namespace onward::kernels
