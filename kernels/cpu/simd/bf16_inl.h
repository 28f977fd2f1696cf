// Floats rounded to bfloat16, two to a word or one by one.
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

// Elements one by one, as floats.
ONWARD_INLINE Vec FromBf16(__m256i x) {
  return reinterpret_cast<Vec>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
ONWARD_INLINE Vec LoadBf16(const uint16_t* p) {
  return FromBf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
ONWARD_INLINE Vec LoadBf16N(const uint16_t* p, int n) {
  return FromBf16(_mm256_maskz_loadu_epi16(FirstLanes(n), p));
}
ONWARD_INLINE __m256i ToBf16(Vec v) { return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v)); }
ONWARD_INLINE void StoreBf16(uint16_t* p, Vec v, int n) {
  if (n == kLanes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), ToBf16(v));
  } else {
    _mm256_mask_storeu_epi16(p, FirstLanes(n), ToBf16(v));
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
