#include "kernels/cpu/simd/int8_tile.h"

namespace onward::kernels::cpu {

const Int8TileKernels& Int8TilesOf(InstructionSet set) {
#if defined(__x86_64__)
  static const bool vnni = __builtin_cpu_supports("avx512vnni");
  if (set == InstructionSet::kAvx512) return vnni ? avx512vnni::Int8Tiles() : avx512::Int8Tiles();
  if (set == InstructionSet::kAvx2) return avx2::Int8Tiles();
#endif
  (void)set;
  return baseline::Int8Tiles();
}

}  // namespace onward::kernels::cpu
