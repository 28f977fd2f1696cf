// Floats rounded to bfloat16, two to a word.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// 32 floats in order, as 16 words.
ONWARD_INLINE Vec InOrder(Vec first, Vec second) {
  return reinterpret_cast<Vec>(_mm512_cvtne2ps_pbh(second, first));
}

// Lane i: the pair of `first`'s and `second`'s lane i.
ONWARD_INLINE Vec Pairs(Vec first, Vec second) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i words = reinterpret_cast<__m512i>(InOrder(first, second));
  return reinterpret_cast<Vec>(_mm512_maskz_permutexvar_epi16(0xffffffffu, order, words));
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
