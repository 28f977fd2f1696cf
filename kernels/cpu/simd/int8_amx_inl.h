// Tiles of products of bytes on the registers of AMX: 32 rows by 32 columns.
#pragma once

#include "kernels/cpu/simd/amx_inl.h"
#include "kernels/cpu/simd/int8_tile.h"

namespace onward::kernels::cpu::ONWARD_TARGET::int8 {

// The rows of each half of a tile: `stride` bytes apart, or copied where distances differ.
struct TileRows {
  const char* first[2] = {nullptr, nullptr};
  int64_t stride[2] = {0, 0};
  bool even[2] = {true, true};

  TileRows(const RunProduct& product, const amx_tiles::TileShape& shape) {
    for (int half = 0; half < 2; ++half) {
      if (shape.rows[half] == 0) {
        first[half] = first[0];  // is not read, but offsets are added to it
        continue;
      }
      const void* const* rows = product.rows + half * amx_tiles::kHalf;
      first[half] = static_cast<const char*>(rows[0]);
      if (shape.rows[half] > 1) stride[half] = static_cast<const char*>(rows[1]) - first[half];
      for (int r = 1; r < shape.rows[half]; ++r)
        even[half] &= static_cast<const char*>(rows[r]) == first[half] + r * stride[half];
    }
  }
};

// Copies `words` words of each row from byte `at` on, 64 bytes apart.
inline void CopyWords(const void* const* rows, int count, int64_t at, int words, char* to) {
  const auto mask = static_cast<__mmask16>((1u << words) - 1);
  for (int r = 0; r < count; ++r) {
    _mm512_store_si512(to + r * 64,
                       _mm512_maskz_loadu_epi32(mask, static_cast<const char*>(rows[r]) + at));
  }
}

inline void AmxTile(const RunProduct& product, int32_t* sums) {
  const amx_tiles::TileShape shape(product.num_rows, amx_tiles::kMost);
  const TileRows rows(product, shape);
  constexpr int64_t kLineBytes = 64;
  const int64_t fetch_step = product.fetch.step;
  alignas(64) char copied[2][amx_tiles::kHalf * 64];
  const auto step = [&](int64_t run, int64_t unit, int words) ONWARD_LAMBDA_INLINE {
    const int64_t at = product.runs[run] + 4 * unit;
    const int64_t fetched = (run * product.units + unit) * fetch_step;
    for (int64_t i = 0; i < amx_tiles::kWords * fetch_step; i += kLineBytes)
      __builtin_prefetch(product.fetch.from + fetched + i);
    amx_tiles::TileStep to;
    ONWARD_UNROLL
    for (int half = 0; half < 2; ++half) {
      to.a[half] = rows.first[half] + at;
      to.a_stride[half] = rows.stride[half];
      if (rows.even[half]) continue;
      CopyWords(product.rows + half * amx_tiles::kHalf, shape.rows[half], at, words, copied[half]);
      to.a[half] = copied[half];
      to.a_stride[half] = 64;
    }
    to.b = static_cast<const char*>(product.panel) + (run * product.units + unit) * amx_tiles::kRow;
    to.b_stride = amx_tiles::kRow;
    return to;
  };
  amx_tiles::ByHalves(shape, [&]<bool kRows2, bool kCols2>() ONWARD_LAMBDA_INLINE {
    amx_tiles::SumRuns<true, kRows2, kCols2>(shape, product.num_runs, product.units,
                                             reinterpret_cast<char*>(sums), step);
  });
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET::int8
