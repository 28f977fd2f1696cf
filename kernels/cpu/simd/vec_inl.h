// Vectors of floats for the target that the including source is compiled for, in a namespace of its
// own. cmake/targets.cmake writes that source: it defines ONWARD_TARGET, the target's name and
// namespace, ONWARD_TARGET_VALUE, its enumerator, ONWARD_TARGET_LANES, and for it and each target
// that it implies ONWARD_TARGET_<NAME>.
//
// Code in *_inl.h must not call inline functions of the standard library or of other headers: the
// linker could keep the copy that was compiled for the widest set.
#pragma once

#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__clang__)
#define ONWARD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ONWARD_UNROLL _Pragma("GCC unroll 16")
#endif
#define ONWARD_INLINE inline __attribute__((always_inline))
#define ONWARD_LAMBDA_INLINE __attribute__((always_inline))

namespace onward::kernels::cpu::ONWARD_TARGET {

inline constexpr int kLanes = ONWARD_TARGET_LANES;
#if defined(ONWARD_TARGET_AVX512) || defined(ONWARD_TARGET_NEON)
inline constexpr int kRegisters = 32;
#else
inline constexpr int kRegisters = 16;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef int32_t IVec __attribute__((vector_size(4 * kLanes)));  // also lane masks: 0 or -1
typedef float UnalignedVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

ONWARD_INLINE Vec Load(const float* p) { return *reinterpret_cast<const UnalignedVec*>(p); }
ONWARD_INLINE void Store(float* p, Vec v) { *reinterpret_cast<UnalignedVec*>(p) = v; }
ONWARD_INLINE Vec Set(float x) { return x - Vec{}; }  // x - 0 is x, also for x = -0
ONWARD_INLINE IVec SetInt(int32_t x) { return IVec{} + x; }
ONWARD_INLINE IVec Bits(Vec v) { return reinterpret_cast<IVec>(v); }
ONWARD_INLINE Vec FromBits(IVec v) { return reinterpret_cast<Vec>(v); }
// For sums that wrap.
typedef uint32_t UVec __attribute__((vector_size(4 * kLanes)));
ONWARD_INLINE UVec Unsigned(IVec v) { return reinterpret_cast<UVec>(v); }
ONWARD_INLINE IVec Signed(UVec v) { return reinterpret_cast<IVec>(v); }
ONWARD_INLINE Vec Select(IVec mask, Vec yes, Vec no) { return mask ? yes : no; }
ONWARD_INLINE Vec Abs(Vec v) { return FromBits(Bits(v) & 0x7fffffff); }

// The maskz forms stand where the plain ones make GCC 12 warn of uninitialized values.
// Masks of lanes in the form that loads take: LanesFrom(n) are the lanes >= n, 0 <= n < kLanes.
// Merge reads whole vectors where the instruction set has no masked loads.
#if defined(ONWARD_TARGET_AVX512)
using LoadMask = __mmask16;
ONWARD_INLINE LoadMask LanesFrom(int n) { return static_cast<LoadMask>(0xffffu << n); }
ONWARD_INLINE Vec Merge(Vec v, LoadMask mask, const float* p) {
  return _mm512_mask_loadu_ps(v, mask, p);
}
#else
using LoadMask = IVec;
ONWARD_INLINE LoadMask LanesFrom(int n) {
  IVec mask;
  for (int i = 0; i < kLanes; ++i) mask[i] = i < n ? 0 : -1;
  return mask;
}
ONWARD_INLINE Vec Merge(Vec v, LoadMask mask, const float* p) { return mask ? Load(p) : v; }
#endif

// The first n lanes, 0 <= n <= kLanes; LoadN gives 0 in the others and neither touches memory
// beyond them. Min and Max give b when a lane of either is NaN.
#if defined(ONWARD_TARGET_AVX512)
ONWARD_INLINE __mmask16 FirstLanes(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
ONWARD_INLINE Vec LoadN(const float* p, int n) { return _mm512_maskz_loadu_ps(FirstLanes(n), p); }
ONWARD_INLINE void StoreN(float* p, Vec v, int n) { _mm512_mask_storeu_ps(p, FirstLanes(n), v); }
ONWARD_INLINE Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
ONWARD_INLINE Vec Min(Vec a, Vec b) { return _mm512_maskz_min_ps(0xffff, a, b); }
ONWARD_INLINE Vec Max(Vec a, Vec b) { return _mm512_maskz_max_ps(0xffff, a, b); }
ONWARD_INLINE Vec Sqrt(Vec a) { return _mm512_maskz_sqrt_ps(0xffff, a); }
#elif defined(ONWARD_TARGET_AVX2)
ONWARD_INLINE __m256i FirstLanes(int n) {
  alignas(32) static constexpr int32_t kOnesThenZeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnesThenZeros + 8 - n));
}
ONWARD_INLINE Vec LoadN(const float* p, int n) { return _mm256_maskload_ps(p, FirstLanes(n)); }
ONWARD_INLINE void StoreN(float* p, Vec v, int n) { _mm256_maskstore_ps(p, FirstLanes(n), v); }
ONWARD_INLINE Vec Fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
ONWARD_INLINE Vec Min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
ONWARD_INLINE Vec Max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
ONWARD_INLINE Vec Sqrt(Vec a) { return _mm256_sqrt_ps(a); }
#else
// Loops over the lanes where the target has no masked loads.
ONWARD_INLINE Vec LoadN(const float* p, int n) {
  Vec v = {};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
ONWARD_INLINE void StoreN(float* p, Vec v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}
#if defined(ONWARD_TARGET_NEON)
ONWARD_INLINE Vec Fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
ONWARD_INLINE Vec Min(Vec a, Vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
ONWARD_INLINE Vec Max(Vec a, Vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
ONWARD_INLINE Vec Sqrt(Vec a) { return vsqrtq_f32(a); }
#elif defined(__x86_64__)
ONWARD_INLINE Vec Fma(Vec a, Vec b, Vec c) { return a * b + c; }
ONWARD_INLINE Vec Min(Vec a, Vec b) { return _mm_min_ps(a, b); }
ONWARD_INLINE Vec Max(Vec a, Vec b) { return _mm_max_ps(a, b); }
ONWARD_INLINE Vec Sqrt(Vec a) { return _mm_sqrt_ps(a); }
#else
ONWARD_INLINE Vec Fma(Vec a, Vec b, Vec c) { return a * b + c; }
ONWARD_INLINE Vec Min(Vec a, Vec b) { return a < b ? a : b; }
ONWARD_INLINE Vec Max(Vec a, Vec b) { return a > b ? a : b; }
ONWARD_INLINE Vec Sqrt(Vec a) {
  for (int i = 0; i < kLanes; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
#endif
#endif

// f over all lanes, halves first: the order is fixed.
template <int D, typename F, int... I>
ONWARD_INLINE Vec FoldLanes(Vec v, F&& f, std::integer_sequence<int, I...> lanes) {
  if constexpr (D == 0) {
    return v;
  } else {
    const Vec folded = f(v, __builtin_shufflevector(v, v, (I ^ D)...));
    return FoldLanes<D / 2>(folded, f, lanes);
  }
}
template <typename F>
ONWARD_INLINE float FoldLanes(Vec v, F&& f) {
  return FoldLanes<kLanes / 2>(v, f, std::make_integer_sequence<int, kLanes>())[0];
}
ONWARD_INLINE float SumLanes(Vec v) {
  return FoldLanes(v, [](Vec a, Vec b) ONWARD_LAMBDA_INLINE { return a + b; });
}

// One stage of a transpose: exchanges the off-diagonal blocks of D x D lanes of rows a and b.
template <int D, int... I>
ONWARD_INLINE void ExchangeBlocks(Vec& a, Vec& b, std::integer_sequence<int, I...>) {
  const Vec low = __builtin_shufflevector(a, b, ((I & D) == 0 ? I : I - D + kLanes)...);
  b = __builtin_shufflevector(a, b, ((I & D) == 0 ? I + D : I + kLanes)...);
  a = low;
}
template <int D>
ONWARD_INLINE void TransposeStage(Vec (&rows)[kLanes]) {
  ONWARD_UNROLL
  for (int i = 0; i < kLanes; ++i) {
    if ((i & D) == 0)
      ExchangeBlocks<D>(rows[i], rows[i + D], std::make_integer_sequence<int, kLanes>());
  }
}
// Transposes kLanes x kLanes floats held in registers.
ONWARD_INLINE void Transpose(Vec (&rows)[kLanes]) {
  TransposeStage<1>(rows);
  TransposeStage<2>(rows);
  if constexpr (kLanes >= 8) TransposeStage<4>(rows);
  if constexpr (kLanes >= 16) TransposeStage<8>(rows);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
