#pragma once

#include "kernels/cpu/simd/peak_loops.h"
#include "kernels/cpu/simd/vec_inl.h"
#if defined(ONWARD_TARGET_AMX)
#include "kernels/cpu/simd/amx_inl.h"
#endif

#if defined(__clang__)
#define ONWARD_UNROLL_CHAINS _Pragma("clang loop unroll(full)")
#else
#define ONWARD_UNROLL_CHAINS _Pragma("GCC unroll 24")
#endif

namespace onward::kernels::cpu::ONWARD_TARGET {

// Registers of sums: enough to hide the latency of a multiply-add (4 or 5 cycles, two a cycle), few
// enough to stay in registers beside two operands.
inline constexpr int kPeakChains = kRegisters * 3 / 4;

// Hides a value from the compiler, which may then neither know nor move it.
template <typename T>
ONWARD_INLINE void Opaque(T& value) {
#if defined(ONWARD_TARGET_AVX512)
  asm volatile("" : "+v"(value));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

typedef double DoubleVec __attribute__((vector_size(4 * kLanes)));

ONWARD_INLINE Vec AddProduct(Vec a, Vec b, Vec c) { return Fma(a, b, c); }
ONWARD_INLINE DoubleVec AddProduct(DoubleVec a, DoubleVec b, DoubleVec c) {
#if defined(ONWARD_TARGET_AVX512)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(ONWARD_TARGET_AVX2)
  return _mm256_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}

template <typename Lanes>
void Rounds(int64_t rounds, float* sink) {
  Lanes sums[kPeakChains] = {}, x = {}, y = {};
  x += 0.5f;
  y += 0.25f;
  Opaque(x);
  Opaque(y);
  for (int64_t i = 0; i < rounds; ++i) {
    ONWARD_UNROLL_CHAINS
    for (int chain = 0; chain < kPeakChains; ++chain) {
      Opaque(x);
      sums[chain] = AddProduct(x, y, sums[chain]);
      Opaque(sums[chain]);
    }
  }
  ONWARD_UNROLL_CHAINS
  for (int chain = 1; chain < kPeakChains; ++chain) sums[0] += sums[chain];
  *sink += static_cast<float>(sums[0][0]);
}

inline constexpr int64_t kVecBytes = 4 * kLanes;
typedef Vec AlignedVec __attribute__((may_alias));

inline void ReadBytes(const char* from, int64_t bytes, float* sink) {
  Vec sums[8] = {};
  int64_t i = 0;
  for (; i + 8 * kVecBytes <= bytes; i += 8 * kVecBytes) {
    ONWARD_UNROLL
    for (int k = 0; k < 8; ++k) {
      Vec v = *reinterpret_cast<const AlignedVec*>(from + i + k * kVecBytes);
      Opaque(v);
    }
  }
  for (; i + kVecBytes <= bytes; i += kVecBytes)
    sums[0] += *reinterpret_cast<const AlignedVec*>(from + i);
  *sink += sums[0][0];
}

// kPast: streaming stores, where the set has them.
template <bool kPast>
ONWARD_INLINE void StoreAt(char* to, Vec v) {
#if defined(ONWARD_TARGET_AVX512)
  if constexpr (kPast) return _mm512_stream_ps(reinterpret_cast<float*>(to), v);
#elif defined(ONWARD_TARGET_AVX2)
  if constexpr (kPast) return _mm256_stream_ps(reinterpret_cast<float*>(to), v);
#elif defined(__x86_64__)
  if constexpr (kPast) return _mm_stream_ps(reinterpret_cast<float*>(to), v);
#endif
  *reinterpret_cast<AlignedVec*>(to) = v;
}

ONWARD_INLINE void EndOfStores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

template <bool kPast>
void WriteBytes(char* to, int64_t bytes) {
  Vec v = Set(1);
  Opaque(v);
  for (int64_t i = 0; i + 4 * kVecBytes <= bytes; i += 4 * kVecBytes) {
    ONWARD_UNROLL
    for (int k = 0; k < 4; ++k) StoreAt<kPast>(to + i + k * kVecBytes, v);
  }
  if constexpr (kPast) EndOfStores();
}

template <bool kPast>
void CopyBytes(char* to, const char* from, int64_t bytes) {
  for (int64_t i = 0; i + 4 * kVecBytes <= bytes; i += 4 * kVecBytes) {
    ONWARD_UNROLL
    for (int k = 0; k < 4; ++k) {
      StoreAt<kPast>(to + i + k * kVecBytes,
                     *reinterpret_cast<const AlignedVec*>(from + i + k * kVecBytes));
    }
  }
  if constexpr (kPast) EndOfStores();
}

inline void AddBytes(char* to, const char* from, const char* other, int64_t bytes) {
  for (int64_t i = 0; i + 4 * kVecBytes <= bytes; i += 4 * kVecBytes) {
    ONWARD_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int64_t at = i + k * kVecBytes;
      StoreAt<false>(to + at, *reinterpret_cast<const AlignedVec*>(from + at) +
                                  *reinterpret_cast<const AlignedVec*>(other + at));
    }
  }
}

#if defined(ONWARD_TARGET_AMX)
ArithmeticLoop Bf16Peak() {
  return {amx_tiles::PeakRounds<false>, 2.0 * 2 * amx_tiles::kPeakWords};
}
#elif defined(ONWARD_TARGET_AVX512BF16)
inline void Bf16Rounds(int64_t rounds, float* sink) {
  Vec sums[kPeakChains] = {};
  __m512bh x = _mm512_cvtne2ps_pbh(Set(0.5f), Set(0.25f));
  Opaque(x);
  for (int64_t i = 0; i < rounds; ++i) {
    ONWARD_UNROLL_CHAINS
    for (int chain = 0; chain < kPeakChains; ++chain)
      sums[chain] = _mm512_dpbf16_ps(sums[chain], x, x);
    ONWARD_UNROLL_CHAINS
    for (int chain = 0; chain < kPeakChains; ++chain) Opaque(sums[chain]);
  }
  ONWARD_UNROLL_CHAINS
  for (int chain = 1; chain < kPeakChains; ++chain) sums[0] += sums[chain];
  *sink += sums[0][0];
}

ArithmeticLoop Bf16Peak() { return {Bf16Rounds, 2.0 * 2 * kPeakChains * kLanes}; }
#else
const PeakLoops& Peaks() {
  static constexpr PeakLoops kLoops = {
      {Rounds<Vec>, 2.0 * kPeakChains * kLanes},
      {Rounds<DoubleVec>, 2.0 * kPeakChains * kLanes / 2},
      ReadBytes,
      WriteBytes<false>,
      WriteBytes<true>,
      CopyBytes<false>,
      CopyBytes<true>,
      AddBytes,
  };
  return kLoops;
}
#endif

}  // namespace onward::kernels::cpu::ONWARD_TARGET
