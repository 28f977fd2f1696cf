#include "kernels/cpu/simd/depthwise_tile.h"

namespace onward::kernels::cpu {

const DepthwiseKernels& DepthwiseTiles(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512::Depthwise();
  if (set == InstructionSet::kAvx2) return avx2::Depthwise();
#endif
  (void)set;
  return baseline::Depthwise();
}

}  // namespace onward::kernels::cpu
