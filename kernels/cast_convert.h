// Conversion of one element between the types that have a C++ number behind them, as Cast defines
// it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/functor.h"
#include "onward/small_float.h"

namespace onward::kernels {

// Nearest float with the sticky bit of the discarded part in its last place: rounding that to a
// narrower format equals rounding the double once.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) --bits;  // toward zero; from infinity too
  return std::bit_cast<float>(bits | 1u);
}

// NaN gives 0. Values out of range, which the standard leaves undefined, wrap in types of 8 and 16
// bits and in uint32 where NumPy wraps, and saturate beyond that.
template <typename To, typename From>
ONWARD_HOST_DEVICE To FloatToInteger(From value) {
  [[maybe_unused]] constexpr To kLeast = std::numeric_limits<To>::min();
  [[maybe_unused]] constexpr To kMost = std::numeric_limits<To>::max();
  if constexpr (sizeof(To) < 4) {
    const From bounded = value < From(-2147483648.0)  ? From(-2147483648.0)
                         : value > From(2147483520.0) ? From(2147483520.0)
                         : value == value             ? value
                                                      : From(0);
    return static_cast<To>(static_cast<int32_t>(bounded));
  } else if constexpr (std::is_same_v<To, int32_t>) {
    if (!(value == value)) return 0;
    if (value >= From(2147483648.0)) return kMost;
    if (value < From(-2147483648.0)) return kLeast;
    return static_cast<int32_t>(value);
  } else {
    if (!(value == value)) return 0;
    constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
    if (value < From(-9223372036854775808.0)) return static_cast<To>(kLeast64);
    if (value < From(9223372036854775808.0)) return static_cast<To>(static_cast<int64_t>(value));
    if constexpr (std::is_same_v<To, uint64_t>) {
      if (value < From(18446744073709551616.0)) return static_cast<uint64_t>(value);
    }
    return kMost;
  }
}

template <typename T>
inline constexpr bool kIsNarrowFloat = std::is_class_v<T>;

template <typename To, typename From>
ONWARD_HOST_DEVICE To Convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsNarrowFloat<From>) {
    return Convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (kIsNarrowFloat<To>) {
    if constexpr (std::is_same_v<From, double>) {
      return static_cast<To>(RoundToOdd(value));
    } else {
      return static_cast<To>(static_cast<float>(value));
    }
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInteger<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace onward::kernels
