// The functions that a fused kernel may apply to its results before it stores them.
#pragma once

#include <cstdint>

namespace onward::cpu {

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

struct ActivationSpec {
  Activation kind = Activation::kNone;
  float alpha = 0;
  float beta = 0;
};

}  // namespace onward::cpu
