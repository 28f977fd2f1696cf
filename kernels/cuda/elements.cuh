// Elements in the type that they are computed in, and back, by the device's own conversions.
#pragma once

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <type_traits>

#include "kernels/functor.h"
#include "onward/dtype.h"

namespace onward::kernels::cuda {

template <typename T>
__device__ inline ComputeType<T> Load(T element) {
#if defined(__CUDACC__)
  if constexpr (std::is_same_v<T, Float16>) {
    return __half2float(__ushort_as_half(element.bits));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return __bfloat162float(__ushort_as_bfloat16(element.bits));
  } else {
    return element;
  }
#else
  return static_cast<ComputeType<T> >(element);
#endif
}

// Rounds to the nearest, ties to even.
template <typename T, typename C>
__device__ inline T Rounded(C value) {
#if defined(__CUDACC__)
  T element;
  if constexpr (std::is_same_v<T, Float16>) {
    element.bits = __half_as_ushort(__float2half_rn(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    element.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
  } else {
    element = static_cast<T>(value);
  }
  return element;
#else
  return static_cast<T>(value);
#endif
}

}  // namespace onward::kernels::cuda
