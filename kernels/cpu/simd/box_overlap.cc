#include "kernels/cpu/simd/box_overlap.h"

namespace onward::kernels::cpu {

FirstOverlap FirstOverlapFor(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512::FirstOverlapOf;
  if (set == InstructionSet::kAvx2) return avx2::FirstOverlapOf;
#endif
  (void)set;
  return baseline::FirstOverlapOf;
}

}  // namespace onward::kernels::cpu
