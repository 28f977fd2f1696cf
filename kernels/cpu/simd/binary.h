// Loops of operations of two float32 operands over contiguous elements.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// out[i] = a[i * a_step] op b[i * b_step]; the steps are 0 or 1. `out` may be the memory
// of an operand whose step is 1.
using FloatBinaryLoop = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step,
                                 float* out, int64_t count);

enum class FloatBinary : uint8_t { kAdd, kDiv, kMul, kPow, kPRelu, kSub, kCount };

ONWARD_PER_TARGET(kVectorLoops, FloatBinaryLoop, Binary, (FloatBinary op))

}  // namespace onward::kernels::cpu
