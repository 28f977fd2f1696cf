// Conversions between float32 and float16 by the processor's instructions, which round to nearest
// even. Baseline processors have none.
#pragma once

#include "kernels/cpu/simd/elementwise_loops.h"

namespace onward::cpu {

struct HalfLoops {
  UnaryLoop from_float;
  UnaryLoop to_float;
};

namespace avx2 {
const HalfLoops& Halves();
}
namespace avx512 {
const HalfLoops& Halves();
}

}  // namespace onward::cpu
