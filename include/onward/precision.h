// The freedom that kernels have with float32 arithmetic.
#pragma once

#include <cstdint>

namespace onward {

enum class Precision : uint8_t {
  kStrict,   // as written
  kDefault,  // algorithms that reorder sums, such as Winograd
  kFast,     // bf16 inner products with fp32 accumulation
};

}  // namespace onward
