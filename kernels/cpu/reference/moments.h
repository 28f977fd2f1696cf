// Mean and variance of contiguous elements.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/functor.h"

namespace onward::kernels::cpu {

template <typename C>
struct Moments {
  C mean, variance;
};

namespace moments_internal {

// Sums map(x[i]) over blocks of partial sums; the blocks are added in double.
template <typename T, typename Map>
double SumOf(const T* x, int64_t count, Map&& map) {
  using C = ComputeType<T>;
  constexpr int64_t kBlock = 512;
  constexpr int kLanes = 8;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    C lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) lanes[k] += map(static_cast<C>(x[i + k]));
    }
    for (; i < end; ++i) lanes[0] += map(static_cast<C>(x[i]));
    for (const C lane : lanes) total += static_cast<double>(lane);
  }
  return total;
}

}  // namespace moments_internal

// The mean, and the mean of squared differences from it.
template <typename T>
Moments<ComputeType<T>> ComputeMoments(const T* x, int64_t count) {
  using C = ComputeType<T>;
  const double n = static_cast<double>(count);
  const C mean = static_cast<C>(moments_internal::SumOf(x, count, [](C v) { return v; }) / n);
  const double squares =
      moments_internal::SumOf(x, count, [mean](C v) { return (v - mean) * (v - mean); });
  return {mean, static_cast<C>(squares / n)};
}

// Zero, and the mean of squares.
template <typename T>
Moments<ComputeType<T>> ComputeSquare(const T* x, int64_t count) {
  using C = ComputeType<T>;
  const double squares = moments_internal::SumOf(x, count, [](C v) { return v * v; });
  return {C(0), static_cast<C>(squares / static_cast<double>(count))};
}

}  // namespace onward::kernels::cpu
