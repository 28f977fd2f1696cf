#include "kernels/cpu/simd/conv_tile.h"

namespace onward::kernels::cpu {

const ConvTileKernels& ConvTiles(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512::ConvKernels();
  if (set == InstructionSet::kAvx2) return avx2::ConvKernels();
#endif
  (void)set;
  return baseline::ConvKernels();
}

}  // namespace onward::kernels::cpu
