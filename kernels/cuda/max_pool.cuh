// The largest element of a window, for MaxPool and its gradient.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/pool_windows.cuh"

namespace onward::kernels::cuda {

template <typename C>
struct Largest {
  C value;
  int64_t place;  // row-major in the plane; -1: the window lies beside it
  int64_t plane;  // where the plane begins
};

// The largest element of the window of output i. The first NaN is above everything.
template <typename T>
__device__ Largest<ComputeType<T>> LargestOfWindow(const T* x, const PoolWindows& windows,
                                                   int64_t i) {
  using C = ComputeType<T>;
  using Limits = std::numeric_limits<C>;
  C top = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  int64_t found = -1;
  const int64_t plane = VisitWindow(windows, i, [&](int64_t at) {
    const C value = Load(x[at]);
    if (found < 0 || value > top || (value != value && top == top)) {
      top = value;
      found = at;
    }
  });
  return {top, found < 0 ? -1 : found - plane, plane};
}

}  // namespace onward::kernels::cuda
