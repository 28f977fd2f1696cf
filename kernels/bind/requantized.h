// Sums of products of bytes as bytes.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/functor.h"

namespace onward::kernels {

// A scaled sum as a byte, whose zero point is added after it is rounded; saturates.
template <typename T>
ONWARD_HOST_DEVICE T Requantized(double scaled, T zero) {
  constexpr double kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const double value = std::nearbyint(scaled) + static_cast<double>(zero);
  return static_cast<T>(!(value > kLow) ? kLow : value > kHigh ? kHigh : value);
}

}  // namespace onward::kernels
