// The geometry of OneHot. depth lies on the host.
#pragma once

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The output is [outer, depth, inner], the indices are [outer, inner].
struct OneHotPlan {
  int64_t depth = 0, inner = 0;
};

// Fractions are cut off; what no int64 holds becomes -1.
template <typename T>
ONWARD_HOST_DEVICE int64_t OneHotIndex(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    const auto number = static_cast<double>(value);
    return std::fabs(number) < 9e18 ? static_cast<int64_t>(number) : -1;
  }
}

// Keeps OneHotPlan as the state and settles output 0; defers the node where depth is not known yet.
absl::Status BindOneHot(BindContext& context, int64_t axis);

}  // namespace onward::kernels
