// Tiles of products of float32.
#pragma once

#include "kernels/cpu/simd/gemm_sums_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline void PackRows(const float* a, int64_t a_row, int rows, int64_t k, float* packed) {
  for (int64_t k0 = 0; k0 < k; k0 += kLanes) {
    const int steps = k - k0 < kLanes ? static_cast<int>(k - k0) : kLanes;
    for (int r0 = 0; r0 < rows; r0 += kLanes) {
      const int n = rows - r0 < kLanes ? rows - r0 : kLanes;
      Vec block[kLanes];
      LoadTransposed(a + r0 * a_row + k0, a_row, n, steps, block);
      for (int i = 0; i < steps; ++i) StoreLanes(packed + (k0 + i) * rows + r0, block[i], n);
    }
  }
}

inline void PackColumns(const float* b, int64_t b_k, int cols, int64_t k, float alpha,
                        float* packed) {
  const Vec scale = Set(alpha);
  for (int64_t i = 0; i < k; ++i, b += b_k, packed += kTileCols) {
    for (int v = 0; v < kTileVecs; ++v) {
      const int left = cols - v * kLanes;
      const int n = left >= kLanes ? kLanes : left > 0 ? left : 0;
      Store(packed + v * kLanes, n == 0 ? Vec{} : LoadLanes(b + v * kLanes, n) * scale);
    }
  }
}

inline void PackColumnsTransposed(const float* b, int64_t b_c, int cols, int64_t k, float alpha,
                                  float* packed) {
  const Vec scale = Set(alpha);
  for (int64_t k0 = 0; k0 < k; k0 += kLanes) {
    const int steps = k - k0 < kLanes ? static_cast<int>(k - k0) : kLanes;
    for (int v = 0; v < kTileVecs; ++v) {
      const int left = cols - v * kLanes;
      const int rows = left >= kLanes ? kLanes : left > 0 ? left : 0;
      Vec block[kLanes];
      LoadTransposed(b + v * kLanes * b_c + k0, b_c, rows, steps, block);
      for (int i = 0; i < steps; ++i)
        Store(packed + (k0 + i) * kTileCols + v * kLanes, block[i] * scale);
    }
  }
}

const GemmTileKernels& GemmTiles() {
  static constexpr GemmTileKernels kKernels = {
      ONWARD_TARGET_VALUE,   kTileRows, kTileCols, 1,        false, AnyTile, PackRows, PackColumns,
      PackColumnsTransposed, nullptr,   nullptr,   Activate,
  };
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
