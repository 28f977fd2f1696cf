// Loops of functions of one float64 operand over contiguous elements.
#pragma once

#include "kernels/cpu/simd/unary.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

enum class DoubleUnary : uint8_t { kExp, kLog, kSigmoid, kTanh, kCount };

ONWARD_PER_TARGET(kVectorLoops, UnaryLoop, UnaryOfDoubles, (DoubleUnary op))

}  // namespace onward::kernels::cpu
