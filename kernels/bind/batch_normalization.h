// X of BatchNormalization and of its gradient: rows of one image and one channel.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/bind/several_values.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// X is [batch, channels, spatial...]; of rank 1, [batch] of one channel.
struct BatchRows {
  int64_t batch = 1, channels = 1, spatial = 1;

  // The elements of one channel.
  ONWARD_HOST_DEVICE int64_t count() const { return batch * spatial; }
  // Where the row of image b begins.
  ONWARD_HOST_DEVICE int64_t row(int64_t b, int64_t channel) const {
    return (b * channels + channel) * spatial;
  }
};

// BatchNormalization of X, scale, B, mean and variance, in place of X: settles all outputs.
absl::StatusOr<BatchRows> BindBatchNormalization(BindContext& context,
                                                 const SeveralValues& several);

// The gradient of X, scale and dY, in place of dY: settles dX, dscale and dB.
absl::StatusOr<BatchRows> BindBatchNormalizationGradient(BindContext& context);

}  // namespace onward::kernels
