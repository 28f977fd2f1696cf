// Elements in the type that they are computed in, and back, by the device's own conversions. NVRTC,
// which compiles this too, has not the headers of CUDA's 16-bit floats.
#pragma once

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <type_traits>

#include "kernels/functor.h"
#include "onward/small_float.h"

namespace onward::kernels::cuda {

template <typename T>
__device__ inline ComputeType<T> Load(T element) {
#if defined(__CUDACC_RTC__)
  if constexpr (std::is_same_v<T, Float16>) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element.bits));
    return value;
  } else {
    return element;
  }
#elif defined(__CUDACC__)
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
#if defined(__CUDACC_RTC__)
  T element;
  if constexpr (std::is_same_v<T, Float16>) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(element.bits) : "f"(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(element.bits) : "f"(value));
  } else {
    element = static_cast<T>(value);
  }
  return element;
#elif defined(__CUDACC__)
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
