// Numbers of drawn cases: sizes, values.
#pragma once

#include <cstdint>
#include <random>

#include "onward/tensor.h"

namespace onward::emulated_cuda {

class CaseDraw {
 public:
  explicit CaseDraw(uint32_t seed) : random_(seed) {}
  int64_t From(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // One of an array.
  template <typename T, size_t N>
  const T& Of(const T (&choices)[N]) {
    return choices[From(0, int64_t{N} - 1)];
  }
  // A tensor of floats of that dtype.
  Tensor Floats(DType dtype, const Dims& dims, double least, double most) {
    Tensor tensor(dtype, dims);
    std::uniform_real_distribution<double> values(least, most);
    DispatchDType(FloatTypes(), dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < tensor.num_elements(); ++i)
        tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<float>(values(random_)));
    });
    return tensor;
  }
  Tensor Integers(const Dims& dims, int64_t least, int64_t most) {
    Tensor tensor(DType::kInt64, dims);
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      tensor.mutable_data<int64_t>()[i] = From(least, most);
    return tensor;
  }

 private:
  std::mt19937 random_;
};

}  // namespace onward::emulated_cuda
