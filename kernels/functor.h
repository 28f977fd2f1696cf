// Functors: the arithmetic of elementwise ops, written once over the type that an op computes in
// (float for the 16- and 8-bit formats, else the element type), for reference, SIMD and CUDA loops
// alike. Those of one operand are in unary_functors.h, those of two in binary_functors.h.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "onward/small_float.h"

#if defined(__CUDACC__)
#define ONWARD_HOST_DEVICE __host__ __device__
#else
#define ONWARD_HOST_DEVICE
#endif

namespace onward::kernels {

// The type in which elements of storage type T are computed.
template <typename T>
struct ComputeTypeImpl {
  using Type = T;
};
template <>
struct ComputeTypeImpl<Float16> {
  using Type = float;
};
template <>
struct ComputeTypeImpl<BFloat16> {
  using Type = float;
};
template <Float8Kind K>
struct ComputeTypeImpl<Float8<K>> {
  using Type = float;
};
template <typename T>
using ComputeType = typename ComputeTypeImpl<T>::Type;

// The result type of F for elements stored as T: T again, or bool of a predicate.
template <typename F, typename T, typename... C>
using ResultType = std::conditional_t<
    std::is_same_v<decltype(std::declval<F>()(std::declval<C>()...)), ComputeType<T>>, T, bool>;

// The type in which integer arithmetic wraps: unsigned and at least as wide as unsigned int, so
// that neither promotion nor overflow is undefined.
template <typename T>
using WrapType =
    std::conditional_t<(sizeof(T) < sizeof(uint32_t)), uint32_t, std::make_unsigned_t<T>>;

// A scalar attribute of an op that its functor holds, in the order of the functor's members.
struct FunctorParameter {
  const char* attribute;
  float otherwise;
};

// Builds a functor from the values of its parameters.
template <typename F>
ONWARD_HOST_DEVICE F MakeFunctor([[maybe_unused]] const float* parameters) {
  if constexpr (requires { F::kParameters; }) {
    constexpr int kCount = sizeof(F::kParameters) / sizeof(FunctorParameter);
    static_assert(kCount == 1 || kCount == 2);
    if constexpr (kCount == 1) return F{parameters[0]};
    if constexpr (kCount == 2) return F{parameters[0], parameters[1]};
  } else {
    return F{};
  }
}

}  // namespace onward::kernels
