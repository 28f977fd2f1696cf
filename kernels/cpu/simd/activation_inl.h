#pragma once

#include "kernels/activation_spec.h"
#include "kernels/cpu/simd/math_inl.h"
#if defined(ONWARD_TARGET_AVX512BF16)
#include "kernels/cpu/simd/rounded_activation_inl.h"
#endif

namespace onward::kernels::cpu::ONWARD_TARGET {

#if defined(ONWARD_TARGET_AVX512BF16)
namespace activations = rounded;
#else
namespace activations = ONWARD_TARGET;
#endif

// Calls f with the function that `spec` names, so that the choice stands outside f's loop.
template <typename F>
ONWARD_INLINE void WithActivation(const ActivationSpec& spec, F&& f) {
  const float alpha = spec.alpha, beta = spec.beta;
  switch (spec.kind) {
    case Activation::kNone:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return x; });
    case Activation::kRelu:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return Max(Vec{}, x); });
    case Activation::kClip:
      return f([alpha, beta](Vec x)
                   ONWARD_LAMBDA_INLINE { return Min(Set(beta), Max(Set(alpha), x)); });
    case Activation::kLeakyRelu:
      return f([alpha](Vec x) ONWARD_LAMBDA_INLINE { return Select(x < Vec{}, x * alpha, x); });
    case Activation::kSigmoid:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return activations::Sigmoid(x); });
    case Activation::kTanh:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return Tanh(x); });
    case Activation::kGelu:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return activations::Gelu(x); });
    case Activation::kGeluTanh:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return activations::GeluTanh(x); });
    case Activation::kSilu:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return activations::Silu(x); });
    case Activation::kHardSwish:
      return f([](Vec x) ONWARD_LAMBDA_INLINE { return HardSwish(x); });
    case Activation::kHardSigmoid:
      return f([alpha, beta](Vec x) ONWARD_LAMBDA_INLINE { return HardSigmoid(x, alpha, beta); });
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
