#pragma once

#include "kernels/cpu/simd/half_loops.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// `narrow` and `widen` convert kLanes elements, Half is a vector of as many of 16 bits.
template <typename Half, Half (*narrow)(Vec)>
inline void FromFloats(const void* in, void* out, int64_t count, const LoopParameters&) {
  const float* x = static_cast<const float*>(in);
  uint16_t* y = static_cast<uint16_t*>(out);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Half half = narrow(Load(x + i));
    __builtin_memcpy(y + i, &half, sizeof(half));
  }
  const int left = static_cast<int>(count - i);
  if (left == 0) return;
  const Half half = narrow(LoadN(x + i, left));
  __builtin_memcpy(y + i, &half, static_cast<size_t>(left) * sizeof(uint16_t));
}

template <typename Half, Vec (*widen)(Half)>
inline void ToFloats(const void* in, void* out, int64_t count, const LoopParameters&) {
  const uint16_t* x = static_cast<const uint16_t*>(in);
  float* y = static_cast<float*>(out);
  Half half = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    __builtin_memcpy(&half, x + i, sizeof(half));
    Store(y + i, widen(half));
  }
  const int left = static_cast<int>(count - i);
  if (left == 0) return;
  __builtin_memcpy(&half, x + i, static_cast<size_t>(left) * sizeof(uint16_t));
  StoreN(y + i, widen(half), left);
}

typedef uint16_t BFloatVec __attribute__((vector_size(2 * kLanes)));

// To nearest even; NaN stays NaN.
ONWARD_INLINE BFloatVec NarrowToBFloats(Vec v) {
  const UVec bits = Unsigned(Bits(v));
  const UVec rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const UVec nan = (bits >> 16) | 0x40u;
  const UVec is_nan = Unsigned((bits & 0x7fffffffu) > 0x7f800000u);
  return __builtin_convertvector((is_nan & nan) | (~is_nan & rounded), BFloatVec);
}
ONWARD_INLINE Vec WidenBFloats(BFloatVec v) {
  return FromBits(Signed(__builtin_convertvector(v, UVec) << 16));
}

const HalfLoops& BFloats() {
  static constexpr HalfLoops kLoops = {FromFloats<BFloatVec, NarrowToBFloats>,
                                       ToFloats<BFloatVec, WidenBFloats>};
  return kLoops;
}

#if defined(ONWARD_TARGET_AVX512)
using HalfVec = __m256i;
ONWARD_INLINE HalfVec Narrow(Vec v) {
  return _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ONWARD_INLINE Vec Widen(HalfVec v) { return _mm512_maskz_cvtph_ps(0xffff, v); }
#elif defined(ONWARD_TARGET_AVX2)
using HalfVec = __m128i;
ONWARD_INLINE HalfVec Narrow(Vec v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ONWARD_INLINE Vec Widen(HalfVec v) { return _mm256_cvtph_ps(v); }
#elif defined(ONWARD_TARGET_NEON)
using HalfVec = float16x4_t;
ONWARD_INLINE HalfVec Narrow(Vec v) { return vcvt_f16_f32(v); }
ONWARD_INLINE Vec Widen(HalfVec v) { return vcvt_f32_f16(v); }
#endif

#if defined(ONWARD_TARGET_AVX2) || defined(ONWARD_TARGET_NEON)
const HalfLoops& Halves() {
  static constexpr HalfLoops kLoops = {FromFloats<HalfVec, Narrow>, ToFloats<HalfVec, Widen>};
  return kLoops;
}
#endif

}  // namespace onward::kernels::cpu::ONWARD_TARGET
