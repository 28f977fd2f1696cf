// Tiles of products of runs (run_product.h) on vectors. `Ops` has the element kind's instructions:
// Vec, kLanes, and static Load, Broadcast (4 bytes), Zero, Store and Multiply(sums, row, vector).
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/run_product.h"

#if defined(__clang__)
#define ONWARD_RUN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ONWARD_RUN_UNROLL _Pragma("GCC unroll 16")
#endif

namespace onward::kernels::cpu::ONWARD_TARGET {

inline constexpr int kRunVecs = 2;    // columns of a tile
inline constexpr int kUnitBytes = 4;  // of one lane

template <typename Ops, int kTileRows, typename Number>
void RunTileOf(const RunProduct& product, Number* to) {
  using Vec = typename Ops::Vec;
  constexpr int kCols = kRunVecs * Ops::kLanes;
  Vec sums[kTileRows][kRunVecs];
  ONWARD_RUN_UNROLL
  for (int r = 0; r < kTileRows; ++r) {
    ONWARD_RUN_UNROLL
    for (int v = 0; v < kRunVecs; ++v) sums[r][v] = Ops::Zero();
  }
  const char* b = static_cast<const char*>(product.panel);
  const int64_t bytes = product.units * kUnitBytes;
  // A panel that fetches nothing touches itself, which costs no branch.
  const char* fetched = product.fetch.from == nullptr ? b : product.fetch.from;
  for (int64_t run = 0; run < product.num_runs; ++run) {
    const char* ends[kTileRows];
    ONWARD_RUN_UNROLL
    for (int r = 0; r < kTileRows; ++r)
      ends[r] = static_cast<const char*>(product.rows[r]) + product.runs[run] + bytes;
    // Up to 0, which takes no register: more rows than registers would spill.
    for (int64_t at = -bytes; at < 0; at += kUnitBytes, b += kCols * kUnitBytes) {
      __builtin_prefetch(fetched);
      fetched += product.fetch.step;
      Vec columns[kRunVecs];
      ONWARD_RUN_UNROLL
      for (int v = 0; v < kRunVecs; ++v) columns[v] = Ops::Load(b + v * Ops::kLanes * kUnitBytes);
      ONWARD_RUN_UNROLL
      for (int r = 0; r < kTileRows; ++r) {
        int32_t unit;
        __builtin_memcpy(&unit, ends[r] + at, sizeof(unit));
        const Vec row = Ops::Broadcast(unit);
        ONWARD_RUN_UNROLL
        for (int v = 0; v < kRunVecs; ++v) sums[r][v] = Ops::Multiply(sums[r][v], row, columns[v]);
      }
    }
  }
  ONWARD_RUN_UNROLL
  for (int r = 0; r < kTileRows; ++r) {
    ONWARD_RUN_UNROLL
    for (int v = 0; v < kRunVecs; ++v) Ops::Store(to + r * kCols + v * Ops::kLanes, sums[r][v]);
  }
}

// As many rows as the product has, kTileRows at most.
template <typename Ops, int kTileRows, typename Number>
void RunTileOfRows(const RunProduct& product, Number* sums) {
  if constexpr (kTileRows > 0) {
    if (product.num_rows == kTileRows) return RunTileOf<Ops, kTileRows>(product, sums);
    RunTileOfRows<Ops, kTileRows - 1>(product, sums);
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
