#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::cpu {

const GemmTileKernels& GemmTiles(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512::TileKernels();
  if (set == InstructionSet::kAvx2) return avx2::TileKernels();
#endif
  (void)set;
  return baseline::TileKernels();
}

}  // namespace onward::cpu
