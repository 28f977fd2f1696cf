// Ways to write many cases as few rows.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "tests/cases/cases.h"

namespace onward::cases {

// start, start + step, start + 2 step, ...
template <typename T>
Tensor Ramp(DimsView dims, T start, T step) {
  Tensor tensor(kDTypeOf<T>, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<T>()[i] = static_cast<T>(start + static_cast<T>(i) * step);
  return tensor;
}

// Integers in [lo, hi) without a visible pattern, times `scale`.
template <typename T>
Tensor Spread(DimsView dims, uint32_t seed, int32_t lo, int32_t hi, T scale = T(1)) {
  Tensor tensor(kDTypeOf<T>, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    uint32_t h = static_cast<uint32_t>(i) * 2654435761u + seed * 40503u + 12345u;
    h ^= h >> 15;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    const int32_t value = lo + static_cast<int32_t>(h % static_cast<uint32_t>(hi - lo));
    tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<T>(value) * scale);
  }
  return tensor;
}

// The case named "<name>_<dtype>" whose float32 tensors are of `dtype` instead. The values must be
// exact in it.
OpCase WithDType(const OpCase& c, DType dtype);

// Appends WithDType of each named case for each dtype.
void AddVariants(std::initializer_list<std::string_view> names, std::initializer_list<DType> dtypes,
                 std::vector<OpCase>& cases);

}  // namespace onward::cases
