// Products of bfloat16 pairs, as the tiles make them.
#define ONWARD_TARGET_AVX512BF16
#include "kernels/cpu/simd/peak_loops.h"
#include "kernels/cpu/simd/vec_inl.h"

#if defined(__clang__)
#define ONWARD_UNROLL_CHAINS _Pragma("clang loop unroll(full)")
#else
#define ONWARD_UNROLL_CHAINS _Pragma("GCC unroll 24")
#endif

namespace onward::kernels::cpu::avx512bf16 {
namespace {

constexpr int kChains = 24;

void Rounds(int64_t rounds, float* sink) {
  __m512 sums[kChains] = {};
  __m512bh x = _mm512_cvtne2ps_pbh(Set(0.5f), Set(0.25f));
  asm volatile("" : "+v"(x));
  for (int64_t i = 0; i < rounds; ++i) {
    ONWARD_UNROLL_CHAINS
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = _mm512_dpbf16_ps(sums[chain], x, x);
    ONWARD_UNROLL_CHAINS
    for (int chain = 0; chain < kChains; ++chain) asm volatile("" : "+v"(sums[chain]));
  }
  ONWARD_UNROLL_CHAINS
  for (int chain = 1; chain < kChains; ++chain) sums[0] += sums[chain];
  *sink += sums[0][0];
}

}  // namespace

ArithmeticLoop BFloat16() { return {Rounds, 2.0 * 2 * kChains * kLanes}; }

}  // namespace onward::kernels::cpu::avx512bf16
