#include "kernels/cpu/simd/gates.h"

namespace onward::kernels::cpu {

const GateKernels& GatesOf(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512::Gates();
  if (set == InstructionSet::kAvx2) return avx2::Gates();
#endif
  (void)set;
  return baseline::Gates();
}

}  // namespace onward::kernels::cpu
