// Shapes of MaxPool, AveragePool, LpPool, MaxUnpool and the global pools.
#pragma once

#include "kernels/bind/window.h"

namespace onward::kernels {

struct PoolAttributes {
  WindowAttributes window;
  bool count_include_pad = false;
  bool column_major = false;  // storage_order of MaxPool's Indices
  int64_t p = 2;

  // InvalidArgument when kernel_shape is missing, and as WindowAttributes::Parse.
  static absl::StatusOr<PoolAttributes> Parse(const NodeSpec& spec);
};

// Attribute "p" of LpPool and GlobalLpPool; InvalidArgument below 1.
absl::StatusOr<int64_t> LpPoolPower(const NodeSpec& spec);

// X is [batch, channels, input...], Y is [batch, channels, output...].
struct PoolGeometry {
  Dims output;
  int64_t planes = 0;  // batch * channels
  WindowAxes axes;

  int64_t input_size() const;
  int64_t output_size() const;
};

absl::StatusOr<PoolGeometry> PoolDims(const PoolAttributes& attributes, DimsView x);

// [N, C, 1, 1, ...]; InvalidArgument below rank 2.
absl::StatusOr<Dims> GlobalPoolDims(DimsView x);

// MaxUnpool's dims without its output_shape input.
absl::StatusOr<Dims> MaxUnpoolDims(const PoolAttributes& attributes, DimsView x);

}  // namespace onward::kernels
