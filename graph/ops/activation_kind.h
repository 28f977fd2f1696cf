// The functions that a fused op may apply to its results before it stores them. Alone, so that
// sources of one instruction set can include it.
#pragma once

#include <cstdint>

namespace onward {

enum class Activation : uint8_t {
  kNone,
  kRelu,
  kClip,       // min(max(x, alpha), beta)
  kLeakyRelu,  // alpha x below 0
  kSigmoid,
  kTanh,
  kGelu,      // x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,  // Gelu by tanh, as the standard's approximate="tanh"
  kSilu,
  kHardSwish,
  kHardSigmoid,  // min(max(alpha x + beta, 0), 1)
};

}  // namespace onward
