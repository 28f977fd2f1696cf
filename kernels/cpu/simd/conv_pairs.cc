#include "kernels/cpu/simd/conv_pairs.h"

#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {

const ConvPairsKernels* BFloat16Conv() {
#if defined(__x86_64__)
  if (BFloat16Tiles() != nullptr) return &avx512bf16::ConvPairs();
#endif
  return nullptr;
}

}  // namespace onward::kernels::cpu
