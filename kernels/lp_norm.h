// The terms of a p-norm: |x|^p, and the root of their sum.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/functor.h"

namespace onward::kernels {

template <typename C>
ONWARD_HOST_DEVICE C PowerOf(C value, int64_t p) {
  const C size = std::fabs(value);
  return p == 1 ? size : p == 2 ? size * size : std::pow(size, static_cast<C>(p));
}

template <typename C>
ONWARD_HOST_DEVICE C RootOf(C sum, int64_t p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, C(1) / static_cast<C>(p));
}

}  // namespace onward::kernels
