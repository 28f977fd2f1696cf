// The parts of which elementwise_source.h makes the sources of fused elementwise groups.
#pragma once

#include "kernels/binary_functors.h"
#include "kernels/cast_convert.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/elementwise_arguments.h"
#include "kernels/cuda/pack.cuh"

namespace onward::kernels::cuda {

template <typename I>
__device__ inline typename I::Number FirstStep() {
  return static_cast<typename I::Number>(blockIdx.x) * blockDim.x + threadIdx.x;
}
template <typename I>
__device__ inline typename I::Number StepsAtOnce() {
  return static_cast<typename I::Number>(gridDim.x) * blockDim.x;
}

// Sets at[n] to the offset of input n for step `index` of the loop.
template <typename I, int kInputs>
__device__ inline void FindInputs(const ElementwiseArguments<I>& arguments,
                                  typename I::Number index, typename I::Number (&at)[kInputs]) {
  using Number = typename I::Number;
#pragma unroll
  for (int n = 0; n < kInputs; ++n) at[n] = 0;
  for (int d = 0; d < arguments.rank; ++d) {
    // The outermost index is what is left.
    const Number rest = d + 1 < arguments.rank ? arguments.dims[d].Quotient(index) : 0;
    const Number place = index - rest * arguments.dims[d].divisor;
#pragma unroll
    for (int n = 0; n < kInputs; ++n) at[n] += place * arguments.strides[n][d];
    index = rest;
  }
}

template <typename T>
__device__ inline T LoadElement(const void* input, uint64_t at) {
  return static_cast<const T*>(input)[at];
}

// The pack at `at`, or one of that element.
template <typename T, int kCount>
__device__ inline Pack<T, kCount> LoadPackOrFill(const void* input, uint64_t at, bool fill) {
  const T* from = static_cast<const T*>(input) + at;
  if (!fill) return LoadPack<kCount>(from);
  Pack<T, kCount> pack;
  const T element = *from;
#pragma unroll
  for (int i = 0; i < kCount; ++i) pack.elements[i] = element;
  return pack;
}

// Cast from a number as `From` is computed in, to one as `To` is, rounded to it.
template <typename From, typename To>
__device__ inline ComputeType<To> CastTo(ComputeType<From> value) {
  if constexpr (kIsNarrowFloat<To>) {
    if constexpr (std::is_same_v<From, double>) return Load(Rounded<To>(RoundToOdd(value)));
    return Load(Rounded<To>(static_cast<float>(value)));
  } else {
    return Convert<To>(value);
  }
}

// The value as an element of T holds it.
template <typename T>
__device__ inline ComputeType<T> AsHeld(ComputeType<T> value) {
  return Load(Rounded<T>(value));
}

// NaN passes.
template <typename C>
__device__ inline C AtLeast(C value, C low) {
  return value < low ? low : value;
}
template <typename C>
__device__ inline C AtMost(C value, C high) {
  return value > high ? high : value;
}

}  // namespace onward::kernels::cuda
