// The elements of images with their channels last, as vectors of floats: bfloat16 in targets that
// multiply pairs of them, float32 in the others.
#pragma once

#include "kernels/cpu/simd/tile_io_inl.h"
#if defined(ONWARD_TARGET_AVX512BF16)
#include "kernels/cpu/simd/bf16_inl.h"
#endif

namespace onward::kernels::cpu::ONWARD_TARGET {

struct TwoVecs {
  Vec low, high;
};

// The first n elements, 0 <= n <= kLanes; of two vectors, n <= 2 * kLanes. Memory beyond them is
// not touched, and lanes beyond them are zero.
#if defined(ONWARD_TARGET_AVX512BF16)
using ImageElement = uint16_t;
ONWARD_INLINE Vec LoadElements(const uint16_t* p) { return LoadBf16(p); }
ONWARD_INLINE Vec LoadElements(const uint16_t* p, int n) { return LoadBf16N(p, n); }
ONWARD_INLINE void StoreElements(uint16_t* p, Vec v, int n) { StoreBf16(p, v, n); }
ONWARD_INLINE __mmask32 FirstWords(int n) { return static_cast<__mmask32>((uint64_t{1} << n) - 1); }
ONWARD_INLINE TwoVecs LoadTwo(const uint16_t* p, int n) {
  const __m512i words = _mm512_maskz_loadu_epi16(FirstWords(n), p);
  return {FromBf16(_mm512_castsi512_si256(words)), FromBf16(_mm512_extracti64x4_epi64(words, 1))};
}
ONWARD_INLINE void StoreTwo(uint16_t* p, const TwoVecs& v, int n) {
  const Vec words = InOrder(v.low, v.high);
  _mm512_mask_storeu_epi16(p, FirstWords(n), reinterpret_cast<__m512i>(words));
}
#else
using ImageElement = float;
ONWARD_INLINE Vec LoadElements(const float* p) { return Load(p); }
ONWARD_INLINE Vec LoadElements(const float* p, int n) { return LoadLanes(p, n); }
ONWARD_INLINE void StoreElements(float* p, Vec v, int n) { StoreLanes(p, v, n); }
ONWARD_INLINE TwoVecs LoadTwo(const float* p, int n) {
  if (n <= kLanes) return {LoadLanes(p, n), Vec{}};
  return {Load(p), LoadLanes(p + kLanes, n - kLanes)};
}
ONWARD_INLINE void StoreTwo(float* p, const TwoVecs& v, int n) {
  if (n <= kLanes) return StoreLanes(p, v.low, n);
  Store(p, v.low);
  StoreLanes(p + kLanes, v.high, n - kLanes);
}
#endif

}  // namespace onward::kernels::cpu::ONWARD_TARGET
