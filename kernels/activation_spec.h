// An activation of a fused kernel with its parameters.
#pragma once

#include "graph/ops/activation_kind.h"

namespace onward::kernels {

struct ActivationSpec {
  Activation kind = Activation::kNone;
  float alpha = 0;
  float beta = 0;
};

}  // namespace onward::kernels
