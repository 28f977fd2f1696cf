// Tiles of products of bfloat16: operands are rounded while they are packed, two steps of K to a
// word (vdpbf16ps).
#pragma once

#include "kernels/cpu/simd/bf16_inl.h"
#include "kernels/cpu/simd/gemm_sums_inl.h"
#if defined(ONWARD_TARGET_AMX)
#include "kernels/cpu/simd/gemm_amx_inl.h"
#endif

namespace onward::kernels::cpu::ONWARD_TARGET {
// n floats from p on, 0 <= n <= 2 kLanes, as words; zero beyond them.
ONWARD_INLINE Vec LoadWords(const float* p, int64_t n, Vec scale) {
  const int first = n < kLanes ? static_cast<int>(n) : kLanes;
  const int second = static_cast<int>(n) - first;
  return InOrder(LoadLanes(p, first) * scale,
                 second == 0 ? Vec{} : LoadLanes(p + kLanes, second) * scale);
}

inline void PackPairs(const float* b, int64_t b_k, int cols, int64_t k, float alpha,
                      float* packed) {
  const Vec scale = Set(alpha);
  for (int64_t i = 0; i < k; i += 2, b += 2 * b_k, packed += kTileCols) {
    for (int v = 0; v < kTileVecs; ++v) {
      const int left = cols - v * kLanes;
      const int n = left >= kLanes ? kLanes : left > 0 ? left : 0;
      const float* from = b + v * kLanes;
      const Vec first = n == 0 ? Vec{} : LoadLanes(from, n) * scale;
      const Vec second = n == 0 || i + 1 == k ? Vec{} : LoadLanes(from + b_k, n) * scale;
      Store(packed + v * kLanes, Pairs(first, second));
    }
  }
}

inline void PackPairsTransposed(const float* b, int64_t b_c, int cols, int64_t k, float alpha,
                                float* packed) {
  const Vec scale = Set(alpha);
  for (int64_t k0 = 0; k0 < k; k0 += 2 * kLanes) {
    const int64_t steps = k - k0 < 2 * kLanes ? k - k0 : 2 * kLanes;
    const int words = static_cast<int>((steps + 1) / 2);
    for (int v = 0; v < kTileVecs; ++v) {
      Vec block[kLanes];
      ONWARD_UNROLL
      for (int c = 0; c < kLanes; ++c) {
        const int column = v * kLanes + c;
        block[c] = column < cols ? LoadWords(b + column * b_c + k0, steps, scale) : Vec{};
      }
      Transpose(block);
      for (int i = 0; i < words; ++i)
        Store(packed + (k0 / 2 + i) * kTileCols + v * kLanes, block[i]);
    }
  }
}

inline void PackPairsOfRows(const float* a, int64_t a_row, int64_t rows, int64_t k, int64_t stride,
                            float* packed) {
  for (int64_t r = 0; r < rows; ++r, a += a_row, packed += stride) {
    int64_t i = 0;
    for (; i + 2 * kLanes <= k; i += 2 * kLanes)
      Store(packed + i / 2, InOrder(Load(a + i), Load(a + i + kLanes)));
    if (i < k) {
      const int words = static_cast<int>((k - i + 1) / 2);
      StoreLanes(packed + i / 2, LoadWords(a + i, k - i, Set(1.0f)), words);
    }
  }
}

#if defined(ONWARD_TARGET_AMX)
inline void PackPairsOfColumns(const float* a, int64_t a_k, int64_t rows, int64_t k, int64_t stride,
                               float* packed) {
  for (int64_t k0 = 0; k0 < k; k0 += 2 * kLanes) {
    const int64_t steps = k - k0 < 2 * kLanes ? k - k0 : 2 * kLanes;
    for (int64_t r = 0; r < rows; r += kLanes) {
      const int n = rows - r < kLanes ? static_cast<int>(rows - r) : kLanes;
      Vec block[kLanes];
      ONWARD_UNROLL
      for (int i = 0; i < kLanes; ++i) {
        const float* from = a + (k0 + 2 * i) * a_k + r;
        const Vec first = 2 * i < steps ? LoadLanes(from, n) : Vec{};
        block[i] = Pairs(first, 2 * i + 1 < steps ? LoadLanes(from + a_k, n) : Vec{});
      }
      Transpose(block);
      const int words = static_cast<int>((steps + 1) / 2);
      for (int i = 0; i < n; ++i) StoreLanes(packed + (r + i) * stride + k0 / 2, block[i], words);
    }
  }
}
#else
inline void PackPairsOfColumns(const float* a, int64_t a_k, int64_t rows, int64_t k, int64_t,
                               float* packed) {
  for (int64_t i = 0; i < k; i += 2, a += 2 * a_k, packed += rows) {
    for (int64_t r = 0; r < rows; r += kLanes) {
      const int n = rows - r < kLanes ? static_cast<int>(rows - r) : kLanes;
      const Vec second = i + 1 == k ? Vec{} : LoadLanes(a + a_k + r, n);
      StoreLanes(packed + r, Pairs(LoadLanes(a + r, n), second), n);
    }
  }
}
#endif

#if defined(ONWARD_TARGET_AMX)
inline constexpr bool kByRow = true;
inline constexpr int kRowsOfPairs = amx_tiles::kMost;
inline constexpr TileFunction kTileOfPairs = AmxTile;
inline constexpr void (*kKeepTiles)(bool) = amx_tiles::KeepRegisters;
#else
inline constexpr bool kByRow = false;
inline constexpr int kRowsOfPairs = kTileRows;
inline constexpr TileFunction kTileOfPairs = AnyTile;
inline constexpr void (*kKeepTiles)(bool) = nullptr;
#endif

const GemmTileKernels& Bf16Tiles() {
  static constexpr GemmTileKernels kKernels = {
      ONWARD_TARGET_VALUE,
      kRowsOfPairs,
      kTileCols,
      2,
      kByRow,
      kTileOfPairs,
      nullptr,
      PackPairs,
      PackPairsTransposed,
      PackPairsOfRows,
      PackPairsOfColumns,
      Activate,
      kKeepTiles,
  };
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
