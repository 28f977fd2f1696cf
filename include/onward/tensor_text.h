// Tensors and values as text, for people.
#pragma once

#include <cstdint>
#include <string>

#include "onward/tensor.h"
#include "onward/value.h"

namespace onward {

struct TensorTextOptions {
  int64_t most = 1000;  // larger tensors are abbreviated
  int64_t edge = 3;     // elements at each end of an abbreviated axis
};

// "float32[2,3]\n[[1, 2, 3],\n [4, 5, 6]]": nested as NumPy prints arrays, floats with as few
// digits as tell them from others of their type, strings in quotes. Packed types are unpacked. "no
// tensor" where it is empty.
std::string TensorText(const Tensor& tensor, const TensorTextOptions& options = {});
// Sequences as "[...]", maps as "{key: value}", an absent optional as "none".
std::string ValueText(const Value& value, const TensorTextOptions& options = {});

}  // namespace onward
