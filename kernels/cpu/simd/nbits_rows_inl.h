#pragma once

#include "kernels/cpu/simd/nbits_rows.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

constexpr int64_t kAhead = 2048;  // bytes of codes that are fetched before they are read

// kLanes bytes as integers. (Compilers convert vectors of bytes one by one.)
ONWARD_INLINE IVec LoadBytes(const uint8_t* p) {
#if defined(ONWARD_TARGET_AVX512)
  return reinterpret_cast<IVec>(
      _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(ONWARD_TARGET_AVX2)
  return reinterpret_cast<IVec>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  return IVec{p[0], p[1], p[2], p[3]};
#endif
}

inline float ZeroOf(const NBitsMatrix& w, int64_t n, int64_t block) {
  if (w.float_zeros != nullptr) return w.float_zeros[n * w.blocks + block];
  if (w.packed_zeros == nullptr) return w.zero;
  const int64_t bit = block * w.bits;
  const int byte = w.packed_zeros[n * w.zero_bytes() + bit / 8];
  return static_cast<float>(byte >> (bit % 8) & ((1 << w.bits) - 1));
}

inline bool InVectors(const NBitsMatrix& w) { return w.block * w.bits / 8 % kLanes == 0; }

#if defined(ONWARD_TARGET_AVX512)
// Codes of 4 bits are read 16 words of 8 codes at a time, and code s of every word is the index of
// its value in a vector of 16: VPERMPS reads the lowest bits of a lane alone.
constexpr int64_t kWordCodes = 8, kChunkCodes = kLanes * kWordCodes;
inline bool InWords(const NBitsMatrix& w) { return w.bits == 4; }

inline void ArrangeWords(const NBitsMatrix& w, const float* x, float* arranged) {
  const int64_t codes = w.blocks * w.block;
  for (int64_t first = 0; first < codes; first += kChunkCodes, arranged += kChunkCodes) {
    for (int64_t s = 0; s < kWordCodes; ++s) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t i = first + lane * kWordCodes + s;
        arranged[s * kLanes + lane] = i < codes ? x[i] : 0;
      }
    }
  }
}

// Which of the scales of a chunk, from its first block on, a lane needs.
inline __m512i ScaleOfLane(int64_t block) {
  alignas(64) int32_t index[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane)
    index[lane] = static_cast<int32_t>(lane * kWordCodes / block);
  return _mm512_load_si512(index);
}

// Adds scales, values of codes and x over the chunk from code `first` on to `sums`, for rows
// [n, n + kRows). `lanes` and `scales`: those of the chunk that there are.
template <int kRows>
ONWARD_INLINE void AddChunk(const NBitsMatrix& w, const float* x, int64_t n, int64_t first,
                            __mmask16 lanes, __mmask16 scales, __m512 values, __m512i scale_of_lane,
                            __m512 (&sums)[kRows]) {
  __m512i words[kRows];
  __m512 products[kRows];
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const uint8_t* codes = w.codes + (n + r) * w.row_bytes() + first / 2;
    __builtin_prefetch(codes + kAhead);
    words[r] = _mm512_maskz_loadu_epi32(lanes, codes);
    products[r] = _mm512_setzero_ps();
  }
  ONWARD_UNROLL
  for (int s = 0; s < kWordCodes; ++s) {
    const __m512 of_x = _mm512_loadu_ps(x + first + s * kLanes);
    ONWARD_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto index = reinterpret_cast<__m512i>(reinterpret_cast<IVec>(words[r]) >> (4 * s));
      products[r] = _mm512_fmadd_ps(_mm512_permutexvar_ps(index, values), of_x, products[r]);
    }
  }
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const float* of_row = w.scales + (n + r) * w.blocks + first / w.block;
    const __m512 scale =
        _mm512_permutexvar_ps(scale_of_lane, _mm512_maskz_loadu_ps(scales, of_row));
    sums[r] = _mm512_fmadd_ps(products[r], scale, sums[r]);
  }
}

// y[r] = the sum of scales, values of codes and x over row n + r.
template <int kRows>
void WordsDot(const NBitsMatrix& w, const float* x, int64_t n, __m512 values, __m512i scale_of_lane,
              float* y) {
  const int64_t codes = w.blocks * w.block;
  const int64_t in_chunk = std::max<int64_t>(1, kChunkCodes / w.block);
  const auto all = static_cast<__mmask16>((1u << in_chunk) - 1);
  __m512 sums[kRows] = {};
  int64_t first = 0;
  for (; first + kChunkCodes <= codes; first += kChunkCodes)
    AddChunk<kRows>(w, x, n, first, 0xffff, all, values, scale_of_lane, sums);
  if (first < codes) {
    const int64_t blocks = (codes - first + w.block - 1) / w.block;
    const auto lanes = static_cast<__mmask16>((1u << (codes - first) / kWordCodes) - 1);
    AddChunk<kRows>(w, x, n, first, lanes, static_cast<__mmask16>((1u << blocks) - 1), values,
                    scale_of_lane, sums);
  }
  for (int r = 0; r < kRows; ++r) y[r] = SumLanes(reinterpret_cast<Vec>(sums[r]));
}
#endif

// Returns the sum of a block, which vectors divide.
inline float BlockSum(const float* x, int64_t count) {
  Vec sum = {};
  for (int64_t i = 0; i < count; i += kLanes) sum += Load(x + i);
  return SumLanes(sum);
}

// Code s of every byte is multiplied as one vector.
inline void Arrange(const NBitsMatrix& w, const float* x, float* arranged, float* sums) {
  const int per_byte = 8 / w.bits;
  for (int64_t b = 0; b < w.blocks; ++b) sums[b] = BlockSum(x + b * w.block, w.block);
#if defined(ONWARD_TARGET_AVX512)
  if (InWords(w)) return ArrangeWords(w, x, arranged);
#endif
  for (int64_t b = 0; b < w.blocks; ++b, x += w.block, arranged += w.block) {
    if (!InVectors(w)) {
      for (int64_t i = 0; i < w.block; ++i) arranged[i] = x[i];
      continue;
    }
    for (int64_t i = 0; i < w.block; ++i) {
      const int64_t byte = i / per_byte, code = i % per_byte;
      arranged[byte / kLanes * kLanes * per_byte + code * kLanes + byte % kLanes] = x[i];
    }
  }
}

// The sum of code * x over a block, in lanes.
template <int kBits>
ONWARD_INLINE Vec BlockDot(const uint8_t* codes, const float* x, int64_t bytes) {
  constexpr int kPerByte = 8 / kBits;
  Vec sums[kPerByte] = {};
  for (int64_t i = 0; i < bytes; i += kLanes, x += kLanes * kPerByte) {
    const IVec wide = LoadBytes(codes + i);
    ONWARD_UNROLL
    for (int s = 0; s < kPerByte; ++s) {
      const IVec code = (wide >> (s * kBits)) & ((1 << kBits) - 1);
      sums[s] = Fma(__builtin_convertvector(code, Vec), Load(x + s * kLanes), sums[s]);
    }
  }
  Vec sum = sums[0];
  ONWARD_UNROLL
  for (int s = 1; s < kPerByte; ++s) sum += sums[s];
  return sum;
}

// The same of codes that are bytes, in sums of which several are under way.
ONWARD_INLINE Vec ByteDot(const uint8_t* codes, const float* x, int64_t bytes) {
  constexpr int kSums = 4;
  Vec sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanes <= bytes; i += kSums * kLanes) {
    __builtin_prefetch(codes + i + kAhead);
    ONWARD_UNROLL
    for (int s = 0; s < kSums; ++s) {
      const IVec code = LoadBytes(codes + i + s * kLanes);
      sums[s] = Fma(__builtin_convertvector(code, Vec), Load(x + i + s * kLanes), sums[s]);
    }
  }
  for (; i < bytes; i += kLanes)
    sums[0] = Fma(__builtin_convertvector(LoadBytes(codes + i), Vec), Load(x + i), sums[0]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Returns the sum that the zero points of row n take off.
inline float Shift(const NBitsMatrix& w, const float* scales, const float* x_sums, int64_t n) {
  float shift = 0;
  if (w.float_zeros != nullptr || w.packed_zeros != nullptr) {
    for (int64_t b = 0; b < w.blocks; ++b) shift += scales[b] * ZeroOf(w, n, b) * x_sums[b];
    return shift;
  }
  Vec sum = {};
  int64_t b = 0;
  for (; b + kLanes <= w.blocks; b += kLanes) sum = Fma(Load(scales + b), Load(x_sums + b), sum);
  for (; b < w.blocks; ++b) shift += scales[b] * x_sums[b];
  return (SumLanes(sum) + shift) * w.zero;
}

#if defined(ONWARD_TARGET_AVX512)
inline void DotWords(const NBitsMatrix& w, const float* x, const float* x_sums, int64_t begin,
                     int64_t end, float* y) {
  const bool shifted = w.float_zeros != nullptr || w.packed_zeros != nullptr;
  alignas(64) float values[kLanes];
  for (int i = 0; i < kLanes; ++i) values[i] = static_cast<float>(i) - (shifted ? 0 : w.zero);
  const __m512 table = _mm512_load_ps(values);
  const __m512i scale_of_lane = ScaleOfLane(w.block);
  constexpr int kRows = 4;
  int64_t n = begin;
  for (; n + kRows <= end; n += kRows)
    WordsDot<kRows>(w, x, n, table, scale_of_lane, y + n - begin);
  for (; n < end; ++n) WordsDot<1>(w, x, n, table, scale_of_lane, y + n - begin);
  for (n = begin; shifted && n < end; ++n)
    y[n - begin] -= Shift(w, w.scales + n * w.blocks, x_sums, n);
}
#endif

template <int kBits>
float RowDot(const NBitsMatrix& w, const float* x, const float* x_sums, int64_t n) {
  const int64_t bytes = w.block * kBits / 8;
  const uint8_t* codes = w.codes + n * w.row_bytes();
  const float* scales = w.scales + n * w.blocks;
  Vec sum = {};
  for (int64_t b = 0; b < w.blocks; ++b, codes += bytes, x += w.block)
    sum = Fma(kBits == 8 ? ByteDot(codes, x, bytes) : BlockDot<kBits>(codes, x, bytes),
              Set(scales[b]), sum);
  return SumLanes(sum) - Shift(w, scales, x_sums, n);
}

ONWARD_INLINE Vec Value(IVec code, float zero, float scale) {
  return (__builtin_convertvector(code, Vec) - Set(zero)) * Set(scale);
}

// a[0], b[0], a[1], b[1], ...
template <int... I>
ONWARD_INLINE void StoreAlternating(Vec a, Vec b, float* to, std::integer_sequence<int, I...>) {
  Store(to, __builtin_shufflevector(a, b, (I / 2 + I % 2 * kLanes)...));
  Store(to + kLanes, __builtin_shufflevector(a, b, (kLanes / 2 + I / 2 + I % 2 * kLanes)...));
}
ONWARD_INLINE void StoreAlternating(Vec a, Vec b, float* to) {
  StoreAlternating(a, b, to, std::make_integer_sequence<int, kLanes>());
}

inline void DequantizeRow(const NBitsMatrix& w, int64_t n, int64_t first, int64_t last, float* to) {
  const int per_byte = 8 / w.bits, mask = (1 << w.bits) - 1;
  const int64_t bytes = w.block * w.bits / 8;
  const uint8_t* codes = w.codes + n * w.row_bytes() + first * bytes;
  for (int64_t b = first; b < last; ++b, codes += bytes, to += w.block) {
    const float scale = w.scales[n * w.blocks + b], zero = ZeroOf(w, n, b);
    int64_t i = 0;
    for (; w.bits >= 4 && i + kLanes <= bytes; i += kLanes) {
      const IVec wide = LoadBytes(codes + i);
      const Vec low = Value(w.bits == 4 ? wide & 15 : wide, zero, scale);
      if (w.bits == 8) {
        Store(to + i, low);
      } else {
        StoreAlternating(low, Value(wide >> 4, zero, scale), to + 2 * i);
      }
    }
    for (; i < bytes; ++i) {
      for (int s = 0; s < per_byte; ++s) {
        const int code = codes[i] >> (s * w.bits) & mask;
        to[i * per_byte + s] = (static_cast<float>(code) - zero) * scale;
      }
    }
  }
}

// Blocks too short for vectors of codes.
inline float ShortBlocksDot(const NBitsMatrix& w, const float* x, int64_t n) {
  float sum = 0, values[64];  // at most 8 bytes of 2-bit codes on the widest set
  for (int64_t b = 0; b < w.blocks; ++b, x += w.block) {
    DequantizeRow(w, n, b, b + 1, values);
    for (int64_t i = 0; i < w.block; ++i) sum += values[i] * x[i];
  }
  return sum;
}

inline void Dot(const NBitsMatrix& w, const float* arranged, const float* sums, int64_t begin,
                int64_t end, float* y) {
#if defined(ONWARD_TARGET_AVX512)
  if (InWords(w)) return DotWords(w, arranged, sums, begin, end, y);
#endif
  for (int64_t n = begin; n < end; ++n) {
    y[n - begin] = !InVectors(w) ? ShortBlocksDot(w, arranged, n)
                   : w.bits == 4 ? RowDot<4>(w, arranged, sums, n)
                   : w.bits == 8 ? RowDot<8>(w, arranged, sums, n)
                                 : RowDot<2>(w, arranged, sums, n);
  }
}

const NBitsKernels& NBits() {
#if defined(ONWARD_TARGET_AVX512)
  constexpr int64_t kStep = kChunkCodes;
#else
  constexpr int64_t kStep = kLanes;
#endif
  static constexpr NBitsKernels kKernels = {kStep, Arrange, Dot, DequantizeRow};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
