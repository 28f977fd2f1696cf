#include "kernels/cpu/simd/peak_loops.h"

#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {

const PeakLoops& PeaksOf(InstructionSet set) {
  return ForSet(set, baseline::Peaks, avx2::Peaks, avx512::Peaks)();
}

ArithmeticLoop BFloat16Peak() {
#if defined(__x86_64__)
  if (BFloat16Tiles() != nullptr) return avx512bf16::BFloat16();
#endif
  return {};
}

}  // namespace onward::kernels::cpu
