#include "kernels/cpu/simd/attention_row.h"

namespace onward::kernels::cpu {

const AttentionRowKernels& AttentionRowsOf(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512::AttentionRows();
  if (set == InstructionSet::kAvx2) return avx2::AttentionRows();
#endif
  (void)set;
  return baseline::AttentionRows();
}

}  // namespace onward::kernels::cpu
