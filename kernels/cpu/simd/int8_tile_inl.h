// With vectors of its own: int32 sums, and bytes or int16 as operands. See vec_inl.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/int8_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define ONWARD_INT8_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ONWARD_INT8_UNROLL _Pragma("GCC unroll 16")
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
template <bool kRowsUnsigned>
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return kRowsUnsigned ? _mm512_dpbusd_epi32(sums, row, vector)
                       : _mm512_dpbusd_epi32(sums, vector, row);
}
#elif defined(ONWARD_TARGET_AVX512)
using Sums = __m512i;
using Element = int16_t;
constexpr int kLanes = 16, kRows = 12, kUnit = 2;
inline Sums Load(const void* p) { return _mm512_loadu_si512(p); }
inline Sums Broadcast(int32_t x) { return _mm512_set1_epi32(x); }
inline Sums Zero() { return _mm512_setzero_si512(); }
inline void Store(int32_t* p, Sums v) { _mm512_storeu_si512(p, v); }
template <bool>
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return _mm512_add_epi32(sums, _mm512_madd_epi16(row, vector));
}
#elif defined(ONWARD_TARGET_AVX2)
using Sums = __m256i;
using Element = int16_t;
constexpr int kLanes = 8, kRows = 4, kUnit = 2;
inline Sums Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline Sums Broadcast(int32_t x) { return _mm256_set1_epi32(x); }
inline Sums Zero() { return _mm256_setzero_si256(); }
inline void Store(int32_t* p, Sums v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
template <bool>
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(row, vector));
}
#elif defined(__x86_64__)
using Sums = __m128i;
using Element = int16_t;
constexpr int kLanes = 4, kRows = 4, kUnit = 2;
inline Sums Load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline Sums Broadcast(int32_t x) { return _mm_set1_epi32(x); }
inline Sums Zero() { return _mm_setzero_si128(); }
inline void Store(int32_t* p, Sums v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
template <bool>
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  return _mm_add_epi32(sums, _mm_madd_epi16(row, vector));
}
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
template <bool>
inline Sums Multiply(Sums sums, Sums row, Sums vector) {
  const Pairs a = reinterpret_cast<Pairs>(row), b = reinterpret_cast<Pairs>(vector);
  for (int i = 0; i < kLanes; ++i) {
    const int32_t low = a[2 * i] * b[2 * i], high = a[2 * i + 1] * b[2 * i + 1];
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(low) +
                                   static_cast<uint32_t>(high));
  }
  return sums;
}
#endif

constexpr int kVecs = 2;
constexpr int kCols = kVecs * kLanes;
constexpr int kUnitBytes = 4;  // of one lane

template <int kTileRows, bool kRowsUnsigned>
void TileOf(const char* a, int64_t a_row, const char* b, int64_t units, int32_t* to) {
  Sums sums[kTileRows][kVecs];
  ONWARD_INT8_UNROLL
  for (int r = 0; r < kTileRows; ++r) {
    ONWARD_INT8_UNROLL
    for (int v = 0; v < kVecs; ++v) sums[r][v] = Zero();
  }
  for (int64_t u = 0; u < units; ++u, a += kUnitBytes, b += kCols * kUnitBytes) {
    Sums columns[kVecs];
    ONWARD_INT8_UNROLL
    for (int v = 0; v < kVecs; ++v) columns[v] = Load(b + v * kLanes * kUnitBytes);
    ONWARD_INT8_UNROLL
    for (int r = 0; r < kTileRows; ++r) {
      int32_t unit;
      __builtin_memcpy(&unit, a + r * a_row, sizeof(unit));
      const Sums row = Broadcast(unit);
      ONWARD_INT8_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        sums[r][v] = Multiply<kRowsUnsigned>(sums[r][v], row, columns[v]);
      }
    }
  }
  ONWARD_INT8_UNROLL
  for (int r = 0; r < kTileRows; ++r) {
    ONWARD_INT8_UNROLL
    for (int v = 0; v < kVecs; ++v) Store(to + r * kCols + v * kLanes, sums[r][v]);
  }
}

template <int kTileRows, bool kRowsUnsigned>
void TileOfRows(const char* a, int64_t a_row, int rows, const char* b, int64_t units,
                int32_t* sums) {
  if constexpr (kTileRows > 0) {
    if (rows == kTileRows) return TileOf<kTileRows, kRowsUnsigned>(a, a_row, b, units, sums);
    TileOfRows<kTileRows - 1, kRowsUnsigned>(a, a_row, rows, b, units, sums);
  }
}

template <bool kRowsUnsigned>
void Tile(const void* a, int64_t a_row, int rows, const void* b, int64_t units, int32_t* sums) {
  TileOfRows<kRows, kRowsUnsigned>(static_cast<const char*>(a), a_row, rows,
                                   static_cast<const char*>(b), units, sums);
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
inline __attribute__((always_inline)) void Scale(const int32_t* c, int r, int cols,
                                                 const Int8Finish& f, float* to) {
  if (f.col_scale != nullptr) {
    for (int j = 0; j < cols; ++j) to[j] = static_cast<float>(c[j]) * f.col_scale[j];
  } else {
    const float scale = f.row_scale == nullptr ? 1.0f : f.row_scale[r];
    for (int j = 0; j < cols; ++j) to[j] = static_cast<float>(c[j]) * scale;
  }
}

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

inline void FinishByte(const int32_t* sums, int rows, int cols, const Int8Finish& f, uint8_t* y,
                       int64_t y_row) {
  // A number known when compiling leaves no rest to the vectors.
  if (cols == kCols) return FinishByteRows(sums, rows, kCols, f, y, y_row);
  FinishByteRows(sums, rows, cols, f, y, y_row);
}

constexpr int kPeakChains = kRows;

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
  ONWARD_INT8_UNROLL
  for (int chain = 0; chain < kPeakChains; ++chain) sums[chain] = Zero();
  for (int64_t i = 0; i < rounds; ++i) {
    ONWARD_INT8_UNROLL
    for (int chain = 0; chain < kPeakChains; ++chain) {
      Opaque(x);
      sums[chain] = Multiply<true>(sums[chain], x, x);
      Opaque(sums[chain]);
    }
  }
  int32_t lanes[kPeakChains][kLanes];
  ONWARD_INT8_UNROLL
  for (int chain = 0; chain < kPeakChains; ++chain) Store(lanes[chain], sums[chain]);
  *sink += static_cast<float>(lanes[0][0]);
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET::int8

namespace onward::kernels::cpu::ONWARD_TARGET {

const Int8TileKernels& Int8Tiles() {
  static constexpr Int8TileKernels kKernels = {
      int8::kRows,
      int8::kCols,
      int8::kUnit,
      static_cast<int>(sizeof(int8::Element)),
      {int8::Tile<true>, int8::Tile<false>},
      int8::FinishInt32,
      int8::FinishFloat,
      int8::FinishByte,
      int8::PeakRounds,
      2 * int8::kPeakChains * int8::kLanes * int8::kUnit,
  };
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
