// Conversions between float32 and 16-bit floats by vectors, which round to nearest even.
#pragma once

#include "kernels/cpu/simd/elementwise_loops.h"

namespace onward::kernels::cpu {

struct HalfLoops {
  UnaryLoop from_float;
  UnaryLoop to_float;
};

// BFloats: bfloat16. Halves: float16 by the processor's instructions, which baseline ones lack.
namespace baseline {
const HalfLoops& BFloats();
}
namespace avx2 {
const HalfLoops& Halves();
const HalfLoops& BFloats();
}  // namespace avx2
namespace avx512 {
const HalfLoops& Halves();
const HalfLoops& BFloats();
}  // namespace avx512

}  // namespace onward::kernels::cpu
