// Numbers whose order is the one in which TopK takes elements, on the host and on devices.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/functor.h"

namespace onward::kernels {

// `Compute`: a ComputeType.
template <typename Compute>
using TopKKey = std::conditional_t<(sizeof(Compute) > 4), uint64_t, uint32_t>;

// The greater key comes first. NaN counts as the greatest value, and zeros are equal.
template <bool kLargest, typename Compute>
ONWARD_HOST_DEVICE TopKKey<Compute> TopKKeyOf(Compute value) {
  using Key = TopKKey<Compute>;
  constexpr Key kSign = Key(1) << (8 * sizeof(Key) - 1);
  Key key;
  if constexpr (std::is_integral_v<Compute>) {
    key = static_cast<Key>(value) ^ (std::is_signed_v<Compute> ? kSign : 0);
  } else if (value != value) {
    key = ~Key(0);
  } else {
    const Compute number = value == 0 ? Compute(0) : value;  // -0 is 0
    std::memcpy(&key, &number, sizeof(key));
    key = (key & kSign) != 0 ? ~key : key | kSign;
  }
  return kLargest ? key : ~key;
}

}  // namespace onward::kernels
