#pragma once

#include <type_traits>

#include "kernels/cpu/simd/quantize_loops.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline void RangeOf(const float* x, int64_t count, float* low, float* high) {
  // Select leaves out NaN, which compares false.
  Vec least = {}, greatest = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec v = Load(x + i);
    least = Select(v < least, v, least);
    greatest = Select(v > greatest, v, greatest);
  }
  const int left = static_cast<int>(count - i);
  if (left > 0) {
    const Vec v = LoadN(x + i, left);
    least = Select(v < least, v, least);
    greatest = Select(v > greatest, v, greatest);
  }
  *low = FoldLanes(least, [](Vec a, Vec b) ONWARD_LAMBDA_INLINE { return Min(a, b); });
  *high = FoldLanes(greatest, [](Vec a, Vec b) ONWARD_LAMBDA_INLINE { return Max(a, b); });
}

constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer

// A piece at a time, so that the compiler's loops over it need no remainder.
template <int kCount>
ONWARD_INLINE void QuantizePiece(const float* x, float scale, float zero, float low, float high,
                                 uint8_t* y) {
  const int32_t offset = static_cast<int32_t>(zero);
  const float least = low - zero, most = high - zero;
  for (int i = 0; i < kCount; ++i) {
    float q = x[i] / scale;
    q = q > least ? q : least;
    q = q < most ? q : most;
    y[i] = static_cast<uint8_t>(static_cast<int32_t>((q + kRound) - kRound) + offset);
  }
}

inline void Quantize(const float* x, int64_t count, float scale, float zero, float low, float high,
                     uint8_t* y) {
  int64_t i = 0;
  for (; i + 64 <= count; i += 64) QuantizePiece<64>(x + i, scale, zero, low, high, y + i);
  for (; i < count; ++i) QuantizePiece<1>(x + i, scale, zero, low, high, y + i);
}

template <typename T>
void Dequantize(const T* x, int64_t count, float scale, float zero, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

using Ints = int32_t __attribute__((vector_size(kLanes * 4)));

// kLanes bytes, or one in all lanes. Compilers convert bytes element by element.
template <int kStep, typename T>
ONWARD_INLINE Ints WidenBytes(const T* x) {
  if constexpr (kStep == 0) {
    return Ints{} + *x;
  } else {
#if defined(ONWARD_TARGET_AVX512)
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    return reinterpret_cast<Ints>(std::is_signed_v<T> ? _mm512_cvtepi8_epi32(bytes)
                                                      : _mm512_cvtepu8_epi32(bytes));
#elif defined(ONWARD_TARGET_AVX2)
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
    return reinterpret_cast<Ints>(std::is_signed_v<T> ? _mm256_cvtepi8_epi32(bytes)
                                                      : _mm256_cvtepu8_epi32(bytes));
#else
    Ints ints;
    for (int i = 0; i < kLanes; ++i) ints[i] = x[i];
    return ints;
#endif
  }
}

ONWARD_INLINE void StoreBytes(Ints ints, uint8_t* to) {
#if defined(ONWARD_TARGET_AVX512)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(ints)));
#else
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<uint8_t>(ints[i]);
#endif
}

template <bool kSum>
ONWARD_INLINE Ints PairOf(Ints a, Ints b, const QuantizedPair& p) {
  const Ints left = a - p.a_zero, right = b - p.b_zero;
  Vec q;
  if constexpr (kSum) {
    q = __builtin_convertvector(left, Vec) * p.a_ratio +
        __builtin_convertvector(right, Vec) * p.b_ratio;
  } else {
    q = __builtin_convertvector(left * right, Vec) * p.a_ratio;
  }
  // In this order NaN becomes the least.
  const Vec least = Vec{} + (p.low - p.zero), most = Vec{} + (p.high - p.zero);
  q = Select(q > least, q, least);
  q = Select(q < most, q, most);
  return __builtin_convertvector((q + kRound) - kRound, Ints) + static_cast<int32_t>(p.zero);
}

// By value, as bytes that are written could be those of the pair.
template <bool kSum, int kAStep, int kBStep, typename T>
void AddOrMultiplySteps(const T* a, const T* b, int64_t count, QuantizedPair p, uint8_t* y) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    StoreBytes(
        PairOf<kSum>(WidenBytes<kAStep>(a + i * kAStep), WidenBytes<kBStep>(b + i * kBStep), p),
        y + i);
  }
  if (i == count) return;
  T a_rest[kLanes] = {}, b_rest[kLanes] = {};
  uint8_t rest[kLanes];
  for (int64_t j = i; j < count; ++j) a_rest[j - i] = a[j * kAStep], b_rest[j - i] = b[j * kBStep];
  StoreBytes(PairOf<kSum>(WidenBytes<1>(a_rest), WidenBytes<1>(b_rest), p), rest);
  for (int64_t j = i; j < count; ++j) y[j] = rest[j - i];
}

template <bool kSum, typename T>
void AddOrMultiply(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t count,
                   const QuantizedPair& p, uint8_t* y) {
  if (a_step == 0) return AddOrMultiplySteps<kSum, 0, 1>(a, b, b_step == 0 ? 1 : count, p, y);
  if (b_step == 0) return AddOrMultiplySteps<kSum, 1, 0>(a, b, count, p, y);
  AddOrMultiplySteps<kSum, 1, 1>(a, b, count, p, y);
}

#if defined(ONWARD_TARGET_AVX512)
// Each 16 entries in turn: bytes beyond them have their highest bit set, and give zero.
inline void Map(const uint8_t* x, int64_t count, const uint8_t* table, uint8_t* y) {
  __m512i entries[16];
  for (int i = 0; i < 16; ++i) {
    entries[i] = _mm512_maskz_broadcast_i32x4(
        0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i)));
  }
  const __m512i beyond = _mm512_set1_epi8(0x70);
  for (int64_t at = 0; at < count; at += 64) {
    const __mmask64 mask = count - at >= 64 ? ~uint64_t{0} : (uint64_t{1} << (count - at)) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(mask, x + at);
    __m512i result = _mm512_setzero_si512();
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m512i within = _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(16 * i)));
      result = _mm512_or_si512(result,
                               _mm512_shuffle_epi8(entries[i], _mm512_adds_epu8(within, beyond)));
    }
    _mm512_mask_storeu_epi8(y + at, mask, result);
  }
}
#else
inline void Map(const uint8_t* x, int64_t count, const uint8_t* table, uint8_t* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = table[x[i]];
}
#endif

const QuantizeLoops& Quantization() {
  static constexpr QuantizeLoops kLoops = {
      RangeOf,
      Quantize,
      Dequantize<uint8_t>,
      Dequantize<int8_t>,
      Map,
      AddOrMultiply<true, uint8_t>,
      AddOrMultiply<false, uint8_t>,
      AddOrMultiply<true, int8_t>,
      AddOrMultiply<false, int8_t>,
  };
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
