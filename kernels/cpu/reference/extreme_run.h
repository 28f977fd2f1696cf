// The greatest or least of contiguous elements, by plain vectors of 16 bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/functor.h"

namespace onward::kernels::cpu {

template <typename C>
struct Extreme {
  C value;
  bool nan = false;  // an element is NaN; `value` is of the others, or the identity
};

template <bool kMax, typename C>
constexpr C ExtremeIdentity() {
  using Limits = std::numeric_limits<C>;
  if constexpr (Limits::has_infinity) return kMax ? -Limits::infinity() : Limits::infinity();
  return kMax ? Limits::lowest() : Limits::max();
}

template <bool kMax, typename T>
Extreme<ComputeType<T>> ExtremeOfRun(const T* x, int64_t count) {
  using C = ComputeType<T>;
  Extreme<C> result = {ExtremeIdentity<kMax, C>()};
  int64_t i = 0;
  const auto take = [&](C value) {
    if constexpr (std::is_floating_point_v<C>) result.nan |= value != value;
    if (kMax ? value > result.value : value < result.value) result.value = value;
  };
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    constexpr int kLanes = 16 / sizeof(T), kChains = 4;
    typedef T Vector __attribute__((vector_size(16)));
    Vector best[kChains];
    for (Vector& b : best) b = Vector{} + result.value;
    auto nans = best[0] != best[0];
    for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
      for (int c = 0; c < kChains; ++c) {
        Vector v;
        std::memcpy(&v, x + i + c * kLanes, sizeof(v));
        best[c] = (kMax ? v > best[c] : v < best[c]) ? v : best[c];
        if constexpr (std::is_floating_point_v<T>) nans |= v != v;
      }
    }
    for (int c = 1; c < kChains; ++c)
      best[0] = (kMax ? best[c] > best[0] : best[c] < best[0]) ? best[c] : best[0];
    for (int lane = 0; lane < kLanes; ++lane) {
      result.nan |= nans[lane] != 0;
      take(best[0][lane]);
    }
  }
  for (; i < count; ++i) take(static_cast<C>(x[i]));
  return result;
}

}  // namespace onward::kernels::cpu
