// Tensors of packed types (4 and 2 bits) from one number per element.
#pragma once

#include <vector>

#include "onward/tensor.h"

namespace onward::cases {

inline Tensor Packed(DType dtype, DimsView dims, const std::vector<int8_t>& elements) {
  Tensor tensor(dtype, dims);
  PackSubByte(dtype, elements.data(), static_cast<int64_t>(elements.size()),
              tensor.raw_mutable_data());
  return tensor;
}

}  // namespace onward::cases
