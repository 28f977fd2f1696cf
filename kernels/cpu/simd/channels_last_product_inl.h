#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/bf16_inl.h"
#include "kernels/cpu/simd/channels_last_product.h"
#include "kernels/cpu/simd/run_tile_inl.h"
#if defined(ONWARD_TARGET_AMX)
#include "kernels/cpu/simd/amx_inl.h"
#endif

namespace onward::kernels::cpu::ONWARD_TARGET {
namespace channels_last {

constexpr int kCols = kRunVecs * kLanes;

struct Ops {
  using Vec = ONWARD_TARGET::Vec;
  static constexpr int kLanes = ONWARD_TARGET::kLanes;
  static ONWARD_INLINE Vec Load(const void* p) { return _mm512_loadu_ps(p); }
  static ONWARD_INLINE Vec Broadcast(int32_t x) { return FromBits(SetInt(x)); }
  static ONWARD_INLINE Vec Zero() { return Vec{}; }
  static ONWARD_INLINE void Store(float* p, Vec v) { ONWARD_TARGET::Store(p, v); }
  static ONWARD_INLINE Vec Multiply(Vec sums, Vec row, Vec vector) {
    return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(row),
                            reinterpret_cast<__m512bh>(vector));
  }
};

// Finishes the pixels of a segment, whose sums lie kCols apart.
template <typename Activate>
ONWARD_INLINE void FinishSegment(const PanelProduct& p, const PixelSegment& segment,
                                 const float* sums, Activate&& activate) {
  const int low = p.cols < kLanes ? p.cols : kLanes, high = p.cols - low;
  const auto mask = static_cast<__mmask32>((uint64_t{1} << p.cols) - 1);
  const Vec bias0 = p.bias == nullptr ? Vec{} : LoadN(p.bias, low);
  const Vec bias1 = p.bias == nullptr ? Vec{} : LoadN(p.bias + low, high);
  const int64_t first = (segment.pixel + segment.skipped) * p.y_pixel;
  uint16_t* y = p.y + first;
  const uint16_t* residual = p.residual == nullptr ? nullptr : p.residual + first;
  sums += segment.skipped * kCols;
  for (int r = segment.skipped; r < p.segment_pixels; ++r, sums += kCols, y += p.y_pixel) {
    Vec v0 = Load(sums) + bias0, v1 = Load(sums + kLanes) + bias1;
    if (residual != nullptr) {
      const __m512i more = _mm512_maskz_loadu_epi16(mask, residual);
      v0 += FromBf16(_mm512_castsi512_si256(more));
      v1 += FromBf16(_mm512_extracti64x4_epi64(more, 1));
      residual += p.y_pixel;
    }
    const Vec words = InOrder(activate(v0), activate(v1));
    _mm512_mask_storeu_epi16(y, mask, reinterpret_cast<__m512i>(words));
  }
}

inline void FinishSegments(const PanelProduct& p, const PixelSegment* segments, int count,
                           const float* sums, int64_t stride) {
  WithActivation(p.activation, [&](auto activate) ONWARD_LAMBDA_INLINE {
    for (int i = 0; i < count; ++i) FinishSegment(p, segments[i], sums + i * stride, activate);
  });
}

#if defined(ONWARD_TARGET_AMX)
constexpr int kTileRows = amx_tiles::kHalf, kSegments = 2, kStepUnits = amx_tiles::kWords;

// A step of the windows of the first segment, the second or both.
template <bool kFirst, bool kSecond, bool kCols2>
ONWARD_INLINE void AddSteps(const PanelProduct& p, const char* first, const char* second,
                            const char* weights) {
  if constexpr (kFirst) ONWARD_TILE_LOAD(4, first, p.pixel_bytes);
  ONWARD_TILE_LOAD(6, weights, amx_tiles::kRow);
  if constexpr (kCols2) ONWARD_TILE_LOAD(7, weights + 4 * amx_tiles::kHalf, amx_tiles::kRow);
  if constexpr (kSecond) ONWARD_TILE_LOAD(5, second, p.pixel_bytes);
  if constexpr (kFirst) ONWARD_TILE_ADD_BF16(0, 4, 6);
  if constexpr (kFirst && kCols2) ONWARD_TILE_ADD_BF16(1, 4, 7);
  if constexpr (kSecond) ONWARD_TILE_ADD_BF16(2, 5, 6);
  if constexpr (kSecond && kCols2) ONWARD_TILE_ADD_BF16(3, 5, 7);
}

// The registers are sized once: all segments have as many pixels, and all steps as many units.
template <bool kCols2>
ONWARD_INLINE void SumSegments(const PanelProduct& p, const PixelSegment* segments, bool has_two,
                               const char* fetched, char* sums) {
  ONWARD_TILE_ZERO(0);
  if constexpr (kCols2) ONWARD_TILE_ZERO(1);
  ONWARD_TILE_ZERO(2);
  if constexpr (kCols2) ONWARD_TILE_ZERO(3);
  const uint64_t first_runs = segments[0].runs, second_runs = has_two ? segments[1].runs : 0;
  const int64_t words = p.units < kStepUnits ? p.units : kStepUnits;
  const char* b = static_cast<const char*>(p.panel);
  for (int64_t run = 0; run < p.num_runs; ++run, b += p.units * amx_tiles::kRow) {
    const bool in_first = !p.skips_runs || (first_runs >> run & 1) != 0;
    const bool in_second = p.skips_runs ? (second_runs >> run & 1) != 0 : has_two;
    const char* first = segments[0].from + p.runs[run];
    const char* second = has_two ? segments[1].from + p.runs[run] : nullptr;
    const auto each = [&](auto add) ONWARD_LAMBDA_INLINE {
      for (int64_t unit = 0; unit < p.units; unit += words) {
        const int64_t at = kUnitBytes * (unit < p.last_unit ? unit : p.last_unit);
        add(first + at, second + at, b + unit * amx_tiles::kRow);
        for (int64_t i = 0; i < words * p.fetch.step; i += 64) __builtin_prefetch(fetched + i);
        fetched += words * p.fetch.step;
      }
    };
    if (in_first && in_second) {
      each([&](const char* x, const char* y, const char* w)
               ONWARD_LAMBDA_INLINE { AddSteps<true, true, kCols2>(p, x, y, w); });
    } else if (in_first) {
      each([&](const char* x, const char* y, const char* w)
               ONWARD_LAMBDA_INLINE { AddSteps<true, false, kCols2>(p, x, y, w); });
    } else if (in_second) {
      each([&](const char* x, const char* y, const char* w)
               ONWARD_LAMBDA_INLINE { AddSteps<false, true, kCols2>(p, x, y, w); });
    }
  }
  if (has_two) {
    amx_tiles::StoreSums<true, kCols2>(sums);
  } else {
    amx_tiles::StoreSums<false, kCols2>(sums);
  }
}

template <bool kCols2>
void MultiplyTiles(const PanelProduct& p) {
  alignas(64) float sums[amx_tiles::kMost * kCols];
  amx_tiles::TileShape shape(amx_tiles::kMost, p.cols);
  shape.rows[0] = shape.rows[1] = p.segment_pixels;
  amx_tiles::Configure(shape, static_cast<int>(p.units < kStepUnits ? p.units : kStepUnits));
  const char* fetched = p.fetch.from;
  for (int64_t i = 0; i < p.num_segments; i += 2, fetched += p.fetch.step * p.units * p.num_runs) {
    const int count = i + 1 < p.num_segments ? 2 : 1;
    SumSegments<kCols2>(p, p.segments + i, count == 2, fetched, reinterpret_cast<char*>(sums));
    FinishSegments(p, p.segments + i, count, sums, amx_tiles::kHalf * kCols);
  }
  ONWARD_TILE_RELEASE();
}

inline void Multiply(const PanelProduct& p) {
  p.cols > kLanes ? MultiplyTiles<true>(p) : MultiplyTiles<false>(p);
}
#else
constexpr int kTileRows = 12, kSegments = 1, kStepUnits = 1;

inline void Multiply(const PanelProduct& p) {
  alignas(64) float sums[kTileRows * kCols];
  const void* rows[kTileRows];
  RunProduct product;
  product.rows = rows, product.num_rows = p.segment_pixels;
  product.runs = p.runs, product.num_runs = p.num_runs;
  product.skips_runs = p.skips_runs;
  product.units = p.units, product.panel = p.panel, product.fetch = p.fetch;
  const int64_t fetched = p.fetch.step * p.units * p.num_runs;
  for (int64_t i = 0; i < p.num_segments; ++i, product.fetch.from += fetched) {
    for (int r = 0; r < p.segment_pixels; ++r) rows[r] = p.segments[i].from + r * p.pixel_bytes;
    product.present = p.segments[i].runs;
    RunTileOfRows<Ops, kTileRows>(product, sums);
    FinishSegments(p, p.segments + i, 1, sums, 0);
  }
}
#endif

// Elements behind the last column are read and do not count.
template <int kRows>
ONWARD_INLINE void DepthwiseOf(const PanelProduct& p, const char* from, float* to) {
  Vec sums[kRows][kRunVecs] = {};
  const float* panel = static_cast<const float*>(p.panel);
  for (int64_t run = 0; run < p.num_runs; ++run, panel += kCols) {
    const char* window = from + p.runs[run];
    ONWARD_RUN_UNROLL
    for (int v = 0; v < kRunVecs; ++v) {
      const Vec column = Load(panel + v * kLanes);
      ONWARD_RUN_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto* row = reinterpret_cast<const uint16_t*>(window + r * p.pixel_bytes);
        sums[r][v] = Fma(LoadBf16(row + v * kLanes), column, sums[r][v]);
      }
    }
  }
  ONWARD_RUN_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ONWARD_RUN_UNROLL
    for (int v = 0; v < kRunVecs; ++v) Store(to + r * kCols + v * kLanes, sums[r][v]);
  }
}

// The same where the windows of neighbours are a pixel apart, as the kTaps runs of each row of
// them: a pixel is widened once a row. Sums have the same order.
template <int kTaps, int kRows>
ONWARD_INLINE void DenseDepthwiseOf(const PanelProduct& p, const char* from, float* to) {
  for (int v = 0; v < kRunVecs; ++v) {
    Vec sums[kRows] = {};
    const float* panel = static_cast<const float*>(p.panel) + v * kLanes;
    for (int64_t run = 0; run < p.num_runs; run += kTaps) {
      const char* window = from + p.runs[run];
      Vec taps[kTaps];
      ONWARD_RUN_UNROLL
      for (int t = 0; t < kTaps; ++t, panel += kCols) taps[t] = Load(panel);
      ONWARD_RUN_UNROLL
      for (int i = 0; i < kRows + kTaps - 1; ++i) {
        const Vec x =
            LoadBf16(reinterpret_cast<const uint16_t*>(window + i * p.pixel_bytes) + v * kLanes);
        ONWARD_RUN_UNROLL
        for (int t = 0; t < kTaps; ++t)
          if (i >= t && i - t < kRows) sums[i - t] = Fma(x, taps[t], sums[i - t]);
      }
    }
    ONWARD_RUN_UNROLL
    for (int r = 0; r < kRows; ++r) Store(to + r * kCols + v * kLanes, sums[r]);
  }
}

// kTaps is 0 for windows of other kinds.
template <int kTaps, int kRows>
ONWARD_INLINE int DepthwiseRows(const PanelProduct& p, const char* from, int r, float* sums) {
  for (; r + kRows <= p.segment_pixels; r += kRows) {
    const char* first = from + r * p.pixel_bytes;
    if constexpr (kTaps == 0) {
      DepthwiseOf<kRows>(p, first, sums + r * kCols);
    } else {
      DenseDepthwiseOf<kTaps, kRows>(p, first, sums + r * kCols);
    }
  }
  return r;
}

template <int kTaps>
void DepthwiseSegments(const PanelProduct& p) {
  alignas(64) float sums[kTileRows * kCols];
  for (int64_t i = 0; i < p.num_segments; ++i) {
    const char* from = p.segments[i].from;
    int r = p.segment_pixels % 7 == 0 ? DepthwiseRows<kTaps, 7>(p, from, 0, sums) : 0;
    r = DepthwiseRows<kTaps, 8>(p, from, r, sums);
    r = DepthwiseRows<kTaps, 4>(p, from, r, sums);
    DepthwiseRows<kTaps, 1>(p, from, r, sums);
    FinishSegments(p, p.segments + i, 1, sums, 0);
  }
}

inline void Depthwise(const PanelProduct& p) {
  const bool is_dense = p.row_runs > 1 && p.runs[1] - p.runs[0] == p.pixel_bytes;
  if (is_dense && p.row_runs == 3) return DepthwiseSegments<3>(p);
  if (is_dense && p.row_runs == 5) return DepthwiseSegments<5>(p);
  DepthwiseSegments<0>(p);
}

inline void PackUnit(const float* first, const float* second, float* to) {
  ONWARD_RUN_UNROLL
  for (int v = 0; v < kRunVecs; ++v, first += kLanes, to += kLanes) {
    Store(to, Pairs(Load(first), second == nullptr ? Vec{} : Load(second + v * kLanes)));
  }
}

}  // namespace channels_last

const ChannelsLastProducts& LastProducts() {
  static constexpr ChannelsLastProducts kProducts = {
      .sizes = {.tile_rows = channels_last::kTileRows,
                .tile_cols = channels_last::kCols,
                .unit = 2,
                .element_bytes = 2},
      .segments = channels_last::kSegments,
      .step_units = channels_last::kStepUnits,
      .multiply = channels_last::Multiply,
      .depthwise = channels_last::Depthwise,
      .pack_unit = channels_last::PackUnit,
  };
  return kProducts;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
