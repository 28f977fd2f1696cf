#include "collectives/sum.h"

#include <type_traits>

namespace onward::collectives {
namespace {

template <typename T>
void Add(void* out, const void* a, const void* b, size_t count) {
  using C = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
  T* sums = static_cast<T*>(out);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  for (size_t i = 0; i < count; ++i)
    sums[i] = static_cast<T>(static_cast<C>(x[i]) + static_cast<C>(y[i]));
}

}  // namespace

Sum SumOf(DType dtype) {
  Sum sum = nullptr;
  DispatchDType(TypeList<float, double, Float16, BFloat16, int32_t, int64_t>(), dtype,
                [&](auto tag) { sum = Add<typename decltype(tag)::type>; });
  return sum;
}

}  // namespace onward::collectives
