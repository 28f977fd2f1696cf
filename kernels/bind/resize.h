// Resize: its options, and the axes that change.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "kernels/bind/resize_axis.h"
#include "onward/kernel.h"
#include "onward/shape.h"

namespace onward::kernels {

enum class AspectPolicy { kStretch, kNotLarger, kNotSmaller };

struct ResizeOptions {
  ResizeRule rule;
  AspectPolicy policy = AspectPolicy::kStretch;
  std::vector<int64_t> axes;
  float extrapolation = 0;
};

using ResizeAxes = absl::InlinedVector<ResizeAxis, 4>;

struct BoundResize {
  Dims out;
  ResizeAxes axes;  // that change, none of an empty output
};

// InvalidArgument: a name that the standard does not have.
absl::StatusOr<ResizeOptions> ReadResizeOptions(const NodeSpec& spec);

// Sets output 0, which may be the input's memory where no axis changes. Nothing: scales, sizes or
// roi are not known yet. InvalidArgument: they do not fit.
absl::StatusOr<std::optional<BoundResize>> BindResize(BindContext& context,
                                                      const ResizeOptions& options);

}  // namespace onward::kernels
