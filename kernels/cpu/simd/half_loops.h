// Conversions between float32 and 16-bit floats by vectors, which round to nearest even.
#pragma once

#include "kernels/cpu/simd/unary.h"

namespace onward::kernels::cpu {

struct HalfLoops {
  UnaryLoop from_float;
  UnaryLoop to_float;
};

// BFloats: bfloat16. Halves: float16 by the processor's instructions, which baseline ones lack.
ONWARD_PER_TARGET(kVectorLoops, const HalfLoops&, BFloats, ())
ONWARD_PER_TARGET(kHalfLoops, const HalfLoops&, Halves, ())

}  // namespace onward::kernels::cpu
