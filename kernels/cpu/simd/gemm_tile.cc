#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {

const GemmTileKernels* BFloat16Tiles() {
#if defined(__x86_64__)
  static const bool known =
      Supports(InstructionSet::kAvx512) && __builtin_cpu_supports("avx512bf16");
  if (known) return &avx512bf16::TileKernels();
#endif
  return nullptr;
}

const GemmTileKernels& GemmTiles(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512::TileKernels();
  if (set == InstructionSet::kAvx2) return avx2::TileKernels();
#endif
  (void)set;
  return baseline::TileKernels();
}

}  // namespace onward::kernels::cpu
