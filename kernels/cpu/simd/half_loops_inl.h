#pragma once

#if defined(__x86_64__)

#include "kernels/cpu/simd/half_loops.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::cpu::ONWARD_TARGET {

#if defined(ONWARD_TARGET_AVX512)
using HalfVec = __m256i;
ONWARD_INLINE HalfVec Narrow(Vec v) {
  return _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ONWARD_INLINE Vec Widen(HalfVec v) { return _mm512_maskz_cvtph_ps(0xffff, v); }
#else
using HalfVec = __m128i;
ONWARD_INLINE HalfVec Narrow(Vec v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ONWARD_INLINE Vec Widen(HalfVec v) { return _mm256_cvtph_ps(v); }
#endif

inline void HalfFromFloat(const void* in, void* out, int64_t count, const LoopParameters&) {
  const float* x = static_cast<const float*>(in);
  uint16_t* y = static_cast<uint16_t*>(out);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const HalfVec half = Narrow(Load(x + i));
    __builtin_memcpy(y + i, &half, sizeof(half));
  }
  const int left = static_cast<int>(count - i);
  if (left == 0) return;
  const HalfVec half = Narrow(LoadN(x + i, left));
  __builtin_memcpy(y + i, &half, static_cast<size_t>(left) * sizeof(uint16_t));
}

inline void HalfToFloat(const void* in, void* out, int64_t count, const LoopParameters&) {
  const uint16_t* x = static_cast<const uint16_t*>(in);
  float* y = static_cast<float*>(out);
  HalfVec half = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    __builtin_memcpy(&half, x + i, sizeof(half));
    Store(y + i, Widen(half));
  }
  const int left = static_cast<int>(count - i);
  if (left == 0) return;
  __builtin_memcpy(&half, x + i, static_cast<size_t>(left) * sizeof(uint16_t));
  StoreN(y + i, Widen(half), left);
}

const HalfLoops& Halves() {
  static constexpr HalfLoops kLoops = {HalfFromFloat, HalfToFloat};
  return kLoops;
}

}  // namespace onward::cpu::ONWARD_TARGET

#endif
