// The size and the elements of Range. Its inputs lie on the host.
#pragma once

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "kernels/functor.h"
#include "onward/dtype.h"
#include "onward/kernel.h"

namespace onward::kernels {

using RangeTypes = TypeList<float, double, Float16, BFloat16, int16_t, int32_t, int64_t>;

// The type that the elements of type T are counted in.
template <typename T>
using RangeCountType = std::conditional_t<std::is_integral_v<T>, T, double>;

// Element i. Integers wrap.
template <typename C>
ONWARD_HOST_DEVICE C RangeElement(C start, C delta, int64_t i) {
  if constexpr (std::is_integral_v<C>) {
    using U = WrapType<C>;
    return static_cast<C>(static_cast<U>(start) + static_cast<U>(i) * static_cast<U>(delta));
  } else {
    return start + static_cast<C>(i) * delta;
  }
}

// Settles output 0, [max(ceil((limit - start) / delta), 0)]; defers the node where an input is not
// known yet.
absl::Status BindRange(BindContext& context);

}  // namespace onward::kernels
