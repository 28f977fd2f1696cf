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

enum class Fold : uint8_t { kMax, kMin, kOr };
using Halves = uint64_t __attribute__((vector_size(16)));

// Returns the greatest or the least of the lanes of a vector of 16 bytes, or the bits of all.
template <Fold kFold, size_t kLaneBytes, typename Vector>
auto FoldLanesOf(Vector lanes) {
  const auto with = [&](Halves moved) {
    const auto other = reinterpret_cast<Vector>(moved);
    if constexpr (kFold == Fold::kMax) lanes = other > lanes ? other : lanes;
    if constexpr (kFold == Fold::kMin) lanes = other < lanes ? other : lanes;
    if constexpr (kFold == Fold::kOr) lanes |= other;
  };
  const auto halves = [&] { return reinterpret_cast<Halves>(lanes); };
  with(__builtin_shufflevector(halves(), halves(), 1, 0));
  if constexpr (kLaneBytes <= 4) with(halves() >> 32);
  if constexpr (kLaneBytes <= 2) with(halves() >> 16);
  if constexpr (kLaneBytes == 1) with(halves() >> 8);
  return lanes[0];
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
    const auto take_vector = [&](int chain, const T* from) {
      Vector v;
      std::memcpy(&v, from, sizeof(v));
      best[chain] = (kMax ? v > best[chain] : v < best[chain]) ? v : best[chain];
      if constexpr (std::is_floating_point_v<T>) nans |= v != v;
    };
    for (; i + kChains * kLanes <= count; i += kChains * kLanes)
      for (int c = 0; c < kChains; ++c) take_vector(c, x + i + c * kLanes);
    for (; i + kLanes <= count; i += kLanes) take_vector(0, x + i);
    for (int c = 1; c < kChains; ++c)
      best[0] = (kMax ? best[c] > best[0] : best[c] < best[0]) ? best[c] : best[0];
    if constexpr (std::is_floating_point_v<T>)
      result.nan = FoldLanesOf<Fold::kOr, sizeof(T)>(nans) != 0;
    constexpr Fold kFold = kMax ? Fold::kMax : Fold::kMin;
    result.value = FoldLanesOf<kFold, sizeof(T)>(best[0]);
  }
  for (; i < count; ++i) take(static_cast<C>(x[i]));
  return result;
}

}  // namespace onward::kernels::cpu
