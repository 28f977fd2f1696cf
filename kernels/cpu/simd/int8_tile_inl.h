// With vectors of its own: int32 sums, and bytes or int16 as operands. See vec_inl.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/int8_tile.h"
#include "kernels/cpu/simd/run_tile_inl.h"
#if defined(ONWARD_TARGET_AMX)
#include "kernels/cpu/simd/int8_amx_inl.h"
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace onward::kernels::cpu::ONWARD_TARGET::int8 {

#if defined(ONWARD_TARGET_AVX512VNNI)
using Sums = __m512i;
using Element = uint8_t;
constexpr int kLanes = 16, kRows = 12, kUnit = 4;
inline Sums Load(const void* p) { return _mm512_loadu_si512(p); }
inline Sums Broadcast(int32_t x) { return _mm512_set1_epi32(x); }
inline Sums Zero() { return _mm512_setzero_si512(); }
inline void Store(int32_t* p, Sums v) { _mm512_storeu_si512(p, v); }
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return _mm512_dpbusd_epi32(sums, row, vector);
}
// Elements as int32, and their products with int32 whose upper halves are zero.
inline Sums Extend(const void* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
inline Sums MultiplyLanes(Sums sums, Sums x, Sums w) { return _mm512_dpwssd_epi32(sums, x, w); }
#elif defined(ONWARD_TARGET_AVX512)
using Sums = __m512i;
using Element = int16_t;
constexpr int kLanes = 16, kRows = 12, kUnit = 2;
inline Sums Load(const void* p) { return _mm512_loadu_si512(p); }
inline Sums Broadcast(int32_t x) { return _mm512_set1_epi32(x); }
inline Sums Zero() { return _mm512_setzero_si512(); }
inline void Store(int32_t* p, Sums v) { _mm512_storeu_si512(p, v); }
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return _mm512_add_epi32(sums, _mm512_madd_epi16(row, vector));
}
inline Sums Extend(const void* p) {
  return _mm512_cvtepi16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
inline Sums MultiplyLanes(Sums sums, Sums x, Sums w) { return Multiply(sums, x, w); }
#elif defined(ONWARD_TARGET_AVX2)
using Sums = __m256i;
using Element = int16_t;
constexpr int kLanes = 8, kRows = 4, kUnit = 2;
inline Sums Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline Sums Broadcast(int32_t x) { return _mm256_set1_epi32(x); }
inline Sums Zero() { return _mm256_setzero_si256(); }
inline void Store(int32_t* p, Sums v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(row, vector));
}
inline Sums Extend(const void* p) {
  return _mm256_cvtepi16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
inline Sums MultiplyLanes(Sums sums, Sums x, Sums w) { return Multiply(sums, x, w); }
#elif defined(__x86_64__)
using Sums = __m128i;
using Element = int16_t;
constexpr int kLanes = 4, kRows = 4, kUnit = 2;
inline Sums Load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline Sums Broadcast(int32_t x) { return _mm_set1_epi32(x); }
inline Sums Zero() { return _mm_setzero_si128(); }
inline void Store(int32_t* p, Sums v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return _mm_add_epi32(sums, _mm_madd_epi16(row, vector));
}
inline Sums Extend(const void* p) {
  const __m128i words = _mm_loadl_epi64(static_cast<const __m128i*>(p));
  return _mm_unpacklo_epi16(words, _mm_srai_epi16(words, 15));
}
inline Sums MultiplyLanes(Sums sums, Sums x, Sums w) { return Multiply(sums, x, w); }
#else
typedef int32_t Sums __attribute__((vector_size(16)));
typedef int16_t Pairs __attribute__((vector_size(16)));
using Element = int16_t;
constexpr int kLanes = 4, kRows = 4, kUnit = 2;
inline Sums Load(const void* p) {
  Sums v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
inline Sums Broadcast(int32_t x) { return Sums{} + x; }
inline Sums Zero() { return Sums{}; }
inline void Store(int32_t* p, Sums v) { __builtin_memcpy(p, &v, sizeof(v)); }
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  const Pairs a = reinterpret_cast<Pairs>(row), b = reinterpret_cast<Pairs>(vector);
  for (int i = 0; i < kLanes; ++i) {
    const int32_t low = a[2 * i] * b[2 * i], high = a[2 * i + 1] * b[2 * i + 1];
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(low) +
                                   static_cast<uint32_t>(high));
  }
  return sums;
}
inline Sums Extend(const void* p) {
  int16_t words[kLanes];
  __builtin_memcpy(words, p, sizeof(words));
  return Sums{words[0], words[1], words[2], words[3]};
}
inline Sums MultiplyLanes(Sums sums, Sums x, Sums w) { return Multiply(sums, x, w); }
#endif

constexpr int kVecs = kRunVecs;
constexpr int kCols = kVecs * kLanes;

struct Ops {
  using Vec = Sums;
  static constexpr int kLanes = int8::kLanes;
  static Vec Load(const void* p) { return int8::Load(p); }
  static Vec Broadcast(int32_t x) { return int8::Broadcast(x); }
  static Vec Zero() { return int8::Zero(); }
  static void Store(int32_t* p, Vec v) { int8::Store(p, v); }
  static Vec Multiply(Vec sums, Vec row, Vec vector) { return int8::Multiply(sums, row, vector); }
};

#if defined(ONWARD_TARGET_AMX)
constexpr int kMostRows = amx_tiles::kMost;
constexpr int kFewRows = 4;  // as in gemm_amx_inl.h
inline void Tile(const RunProduct& product, int32_t* sums) {
  product.num_rows <= kFewRows ? RunTileOfRows<Ops, kFewRows>(product, sums)
                               : AmxTile(product, sums);
}
#else
constexpr int kMostRows = kRows;
inline void Tile(const RunProduct& product, int32_t* sums) {
  RunTileOfRows<Ops, kRows>(product, sums);
}
#endif

template <int kTileRows>
void DepthwiseOf(const RunProduct& product, int first, int32_t* to) {
  Sums sums[kTileRows][kVecs];
  ONWARD_RUN_UNROLL
  for (int r = 0; r < kTileRows; ++r) {
    ONWARD_RUN_UNROLL
    for (int v = 0; v < kVecs; ++v) sums[r][v] = Zero();
  }
  const char* panel = static_cast<const char*>(product.panel);
  for (int64_t run = 0; run < product.num_runs; ++run, panel += kCols * kUnitBytes) {
    ONWARD_RUN_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      const Sums column = Load(panel + v * kLanes * kUnitBytes);
      ONWARD_RUN_UNROLL
      for (int r = 0; r < kTileRows; ++r) {
        const char* row = static_cast<const char*>(product.rows[first + r]) + product.runs[run];
        const Sums elements = Extend(row + v * kLanes * sizeof(Element));
        sums[r][v] = MultiplyLanes(sums[r][v], elements, column);
      }
    }
  }
  ONWARD_RUN_UNROLL
  for (int r = 0; r < kTileRows; ++r) {
    ONWARD_RUN_UNROLL
    for (int v = 0; v < kVecs; ++v) Store(to + (first + r) * kCols + v * kLanes, sums[r][v]);
  }
}

inline void Depthwise(const RunProduct& product, int32_t* sums) {
  constexpr int kTogether = 4;
  int r = 0;
  for (; r + kTogether <= product.num_rows; r += kTogether)
    DepthwiseOf<kTogether>(product, r, sums);
  for (; r < product.num_rows; ++r) DepthwiseOf<1>(product, r, sums);
}

// Adds what belongs to row r; unsigned, so that it may wrap.
inline __attribute__((always_inline)) void Adjust(const int32_t* sums, int r, int cols,
                                                  const Int8Finish& f, int32_t* to) {
  const uint32_t add = f.row_add == nullptr ? 0 : static_cast<uint32_t>(f.row_add[r]);
  for (int j = 0; j < cols; ++j) to[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) + add);
  if (f.col_add != nullptr) {
    for (int j = 0; j < cols; ++j)
      to[j] =
          static_cast<int32_t>(static_cast<uint32_t>(to[j]) + static_cast<uint32_t>(f.col_add[j]));
  }
  if (f.row_mul != nullptr && f.col_mul != nullptr) {
    const uint32_t factor = static_cast<uint32_t>(f.row_mul[r]);
    for (int j = 0; j < cols; ++j)
      to[j] = static_cast<int32_t>(static_cast<uint32_t>(to[j]) +
                                   factor * static_cast<uint32_t>(f.col_mul[j]));
  }
}

inline void FinishInt32(const int32_t* sums, int rows, int cols, const Int8Finish& f, int32_t* y,
                        int64_t y_row) {
  for (int r = 0; r < rows; ++r) Adjust(sums + r * kCols, r, cols, f, y + r * y_row);
}

// c * scale of one row.
[[maybe_unused]] inline __attribute__((always_inline)) void Scale(const int32_t* c, int r, int cols,
                                                                  const Int8Finish& f, float* to) {
  if (f.col_scale != nullptr) {
    for (int j = 0; j < cols; ++j) to[j] = static_cast<float>(c[j]) * f.col_scale[j];
  } else {
    const float scale = f.row_scale == nullptr ? 1.0f : f.row_scale[r];
    for (int j = 0; j < cols; ++j) to[j] = static_cast<float>(c[j]) * scale;
  }
}

#if defined(ONWARD_TARGET_AVX512)
// Calls result(c * scale, mask, place) for the vectors of a tile, its columns one after another.
template <typename Result>
inline __attribute__((always_inline)) void FinishVectors(const int32_t* sums, int rows, int cols,
                                                         const Int8Finish& f, Result&& result) {
  const bool multiplies = f.row_mul != nullptr && f.col_mul != nullptr;
  for (int first = 0; first < cols; first += kLanes) {
    const int count = cols - first < kLanes ? cols - first : kLanes;
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    const auto columns = [&](const void* of) {
      return of == nullptr
                 ? _mm512_setzero_si512()
                 : _mm512_maskz_loadu_epi32(mask, static_cast<const int32_t*>(of) + first);
    };
    const __m512i add = columns(f.col_add), mul = columns(f.col_mul);
    __m512 scale =
        f.col_scale == nullptr ? _mm512_set1_ps(1.0f) : _mm512_castsi512_ps(columns(f.col_scale));
    const __m512 bias = _mm512_castsi512_ps(columns(f.col_bias));
    for (int r = 0; r < rows; ++r) {
      __m512i c = _mm512_add_epi32(_mm512_loadu_si512(sums + r * kCols + first), add);
      if (f.row_add != nullptr) c = _mm512_add_epi32(c, _mm512_set1_epi32(f.row_add[r]));
      if (multiplies)
        c = _mm512_add_epi32(c, _mm512_mullo_epi32(_mm512_set1_epi32(f.row_mul[r]), mul));
      if (f.row_scale != nullptr) scale = _mm512_set1_ps(f.row_scale[r]);
      result(_mm512_mul_ps(_mm512_cvtepi32_ps(c), scale), bias, mask, r, first);
    }
  }
}

inline void FinishFloat(const int32_t* sums, int rows, int cols, const Int8Finish& f, float* y,
                        int64_t y_row) {
  FinishVectors(
      sums, rows, cols, f,
      [&](__m512 scaled, __m512 bias, __mmask16 mask, int r, int first)
          __attribute__((always_inline)) {
            if (f.col_bias != nullptr) scaled = _mm512_add_ps(scaled, bias);
            _mm512_mask_storeu_ps(y + r * y_row + first, mask, scaled);
          });
}

// By value, as bytes that are written could be those of `f`.
inline void FinishByte(const int32_t* sums, int rows, int cols, Int8Finish f, uint8_t* y,
                       int64_t y_row) {
  const __m512 low = _mm512_set1_ps(f.low - f.zero), high = _mm512_set1_ps(f.high - f.zero);
  const __m512i zero = _mm512_set1_epi32(static_cast<int32_t>(f.zero));
  FinishVectors(
      sums, rows, cols, f,
      [&](__m512 scaled, __m512, __mmask16 mask, int r, int first) __attribute__((always_inline)) {
        // In this order NaN becomes `low`; conversions round half to even.
        const __m512 within = _mm512_min_ps(_mm512_max_ps(scaled, low), high);
        const __m512i rounded = _mm512_add_epi32(_mm512_cvtps_epi32(within), zero);
        uint8_t* to = y + r * y_row + first;
        if (mask == 0xffff) {
          const __m128i bytes = _mm512_cvtepi32_epi8(rounded);
          __builtin_memcpy(to, &bytes, sizeof(bytes));
        } else {
          _mm512_mask_cvtepi32_storeu_epi8(to, mask, rounded);
        }
      });
}
#else
inline void FinishFloat(const int32_t* sums, int rows, int cols, const Int8Finish& f, float* y,
                        int64_t y_row) {
  int32_t c[kCols];
  for (int r = 0; r < rows; ++r) {
    float* to = y + r * y_row;
    Adjust(sums + r * kCols, r, cols, f, c);
    Scale(c, r, cols, f, to);
    if (f.col_bias == nullptr) continue;
    for (int j = 0; j < cols; ++j) to[j] += f.col_bias[j];
  }
}

inline __attribute__((always_inline)) void FinishByteRows(const int32_t* sums, int rows, int cols,
                                                          const Int8Finish& f, uint8_t* y,
                                                          int64_t y_row) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float low = f.low - f.zero, high = f.high - f.zero;
  const int32_t zero = static_cast<int32_t>(f.zero);
  int32_t c[kCols];
  float scaled[kCols];
  for (int r = 0; r < rows; ++r) {
    Adjust(sums + r * kCols, r, cols, f, c);
    Scale(c, r, cols, f, scaled);
    uint8_t* to = y + r * y_row;
    for (int j = 0; j < cols; ++j) {
      float value = scaled[j] > low ? scaled[j] : low;
      value = value < high ? value : high;
      to[j] = static_cast<uint8_t>(static_cast<int32_t>((value + kRound) - kRound) + zero);
    }
  }
}

inline void FinishByte(const int32_t* sums, int rows, int cols, Int8Finish f, uint8_t* y,
                       int64_t y_row) {
  // A number known when compiling leaves no rest to the vectors.
  if (cols == kCols) return FinishByteRows(sums, rows, kCols, f, y, y_row);
  FinishByteRows(sums, rows, cols, f, y, y_row);
}
#endif

#if defined(ONWARD_TARGET_AMX)
constexpr int kPeakOperations = 2 * amx_tiles::kPeakWords * kUnit;
inline void PeakRounds(int64_t rounds, float* sink) { amx_tiles::PeakRounds<true>(rounds, sink); }
#else
// Chains of sums enough to hide the latency of a multiply-add. With as few as the rows of AVX2's
// tile, one or the other of two rates appears by chance.
constexpr int kPeakChains = 12;
constexpr int kPeakOperations = 2 * kPeakChains * kLanes * kUnit;

// Hides a value from the compiler, which may then not move it out of a loop.
inline __attribute__((always_inline)) void Opaque([[maybe_unused]] Sums& sums) {
#if defined(ONWARD_TARGET_AVX512)
  asm volatile("" : "+v"(sums));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(sums));
#endif
}

inline void PeakRounds(int64_t rounds, float* sink) {
  Sums sums[kPeakChains], x = Broadcast(0x01010101);
  ONWARD_RUN_UNROLL
  for (int chain = 0; chain < kPeakChains; ++chain) sums[chain] = Zero();
  for (int64_t i = 0; i < rounds; ++i) {
    ONWARD_RUN_UNROLL
    for (int chain = 0; chain < kPeakChains; ++chain) {
      Opaque(x);
      sums[chain] = Multiply(sums[chain], x, x);
      Opaque(sums[chain]);
    }
  }
  int32_t lanes[kPeakChains][kLanes];
  ONWARD_RUN_UNROLL
  for (int chain = 0; chain < kPeakChains; ++chain) Store(lanes[chain], sums[chain]);
  *sink += static_cast<float>(lanes[0][0]);
}
#endif

}  // namespace onward::kernels::cpu::ONWARD_TARGET::int8

namespace onward::kernels::cpu::ONWARD_TARGET {

const Int8TileKernels& Int8Tiles() {
  static constexpr Int8TileKernels kKernels = {
      .tile_rows = int8::kMostRows,
      .tile_cols = int8::kCols,
      .unit = int8::kUnit,
      .element_bytes = static_cast<int>(sizeof(int8::Element)),
      .tile = int8::Tile,
      .depthwise = int8::Depthwise,
      .finish_int32 = int8::FinishInt32,
      .finish_float = int8::FinishFloat,
      .finish_byte = int8::FinishByte,
      .peak = int8::PeakRounds,
      .peak_operations = int8::kPeakOperations,
  };
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
