#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/channels_last_product.h"
#include "kernels/cpu/simd/image_element_inl.h"
#if defined(ONWARD_TARGET_AMX)
#include "kernels/cpu/simd/amx_inl.h"
#endif

namespace onward::kernels::cpu::ONWARD_TARGET {
namespace channels_last {

constexpr int kVecs = 2, kCols = kVecs * kLanes;
constexpr int kUnitBytes = 4;

// Finishes the pixels of a segment, whose sums lie kCols apart.
template <typename Activate>
ONWARD_INLINE void FinishSegment(const PanelProduct& p, const PixelSegment& segment,
                                 const float* sums, Activate&& activate) {
  const int low = p.cols < kLanes ? p.cols : kLanes;
  const Vec bias0 = p.bias == nullptr ? Vec{} : LoadN(p.bias, low);
  const Vec bias1 = p.bias == nullptr ? Vec{} : LoadN(p.bias + low, p.cols - low);
  const int64_t first = (segment.pixel + segment.skipped) * p.y_pixel;
  auto* y = static_cast<ImageElement*>(p.y) + first;
  const auto* residual = static_cast<const ImageElement*>(p.residual);
  if (residual != nullptr) residual += first;
  sums += segment.skipped * kCols;
  for (int r = segment.skipped; r < p.segment_pixels; ++r, sums += kCols, y += p.y_pixel) {
    Vec v0 = Load(sums) + bias0, v1 = Load(sums + kLanes) + bias1;
    if (residual != nullptr) {
      const TwoVecs more = LoadTwo(residual, p.cols);
      v0 += more.low, v1 += more.high;
      residual += p.y_pixel;
    }
    StoreTwo(y, {activate(v0), activate(v1)}, p.cols);
  }
}

inline void FinishSegments(const PanelProduct& p, const PixelSegment* segments, int count,
                           const float* sums, int64_t stride) {
  WithActivation(p.activation, [&](auto activate) ONWARD_LAMBDA_INLINE {
    for (int i = 0; i < count; ++i) FinishSegment(p, segments[i], sums + i * stride, activate);
  });
}

inline void Finish(const PanelProduct& p, const PixelSegment& segment, const float* sums) {
  FinishSegments(p, &segment, 1, sums, 0);
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
// Accumulators, the panel and a unit of a window fill the registers.
constexpr int kTileRows = kRegisters == 32 ? 12 : 6, kSegments = 1, kStepUnits = 1;

// A unit of a window in every lane, whatever number its bits are, and its products added to sums.
ONWARD_INLINE Vec SetUnit(const char* unit) {
  int32_t bits;
  __builtin_memcpy(&bits, unit, sizeof(bits));
  return FromBits(SetInt(bits));
}
ONWARD_INLINE Vec MultiplyUnits(Vec window, Vec panel, Vec sums) {
#if defined(ONWARD_TARGET_AVX512BF16)
  return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(window),
                          reinterpret_cast<__m512bh>(panel));
#else
  return Fma(window, panel, sums);
#endif
}

// kRows windows of a segment times kVectors vectors of the panel, to sums kCols apart.
template <int kRows, int kVectors>
void SumTile(const PanelProduct& p, const PixelSegment& segment, const char* fetched, float* to) {
  constexpr int kBases = (kRows + 2) / 3;  // addresses of three windows are a base and an offset
  Vec sums[kRows][kVectors] = {};
  const auto* b = static_cast<const float*>(p.panel);
  // A panel that fetches nothing touches itself, which costs no branch.
  if (fetched == nullptr) fetched = static_cast<const char*>(p.panel);
  const int64_t pixel = p.pixel_bytes, units = p.units, fetch_step = p.fetch.step;
  for (int64_t run = 0; run < p.num_runs; ++run) {
    if (p.skips_runs && (segment.runs >> run & 1) == 0) {
      b += units * kCols;
      continue;
    }
    const char* bases[kBases];
    for (int i = 0; i < kBases; ++i) bases[i] = segment.from + p.runs[run] + 3 * i * pixel;
    for (int64_t unit = 0; unit < units; ++unit, b += kCols) {
      __builtin_prefetch(fetched);
      fetched += fetch_step;
      Vec columns[kVectors];
      ONWARD_UNROLL
      for (int v = 0; v < kVectors; ++v) columns[v] = Load(b + v * kLanes);
      ONWARD_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const Vec window = SetUnit(bases[r / 3] + r % 3 * pixel);
        ONWARD_UNROLL
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = MultiplyUnits(window, columns[v], sums[r][v]);
      }
      ONWARD_UNROLL
      for (int i = 0; i < kBases; ++i) bases[i] += kUnitBytes;
    }
  }
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ONWARD_UNROLL
    for (int v = 0; v < kVectors; ++v) Store(to + r * kCols + v * kLanes, sums[r][v]);
  }
}

// As many windows as the segments have, kRows at most.
template <int kRows, int kVectors>
ONWARD_INLINE void SumSegment(const PanelProduct& p, const PixelSegment& segment,
                              const char* fetched, float* sums) {
  if constexpr (kRows > 0) {
    if (p.segment_pixels == kRows) return SumTile<kRows, kVectors>(p, segment, fetched, sums);
    SumSegment<kRows - 1, kVectors>(p, segment, fetched, sums);
  }
}

inline void Multiply(const PanelProduct& p) {
  alignas(64) float sums[kTileRows * kCols] = {};
  const char* fetched = p.fetch.from;
  for (int64_t i = 0; i < p.num_segments; ++i) {
    if (p.cols > kLanes) {
      SumSegment<kTileRows, 2>(p, p.segments[i], fetched, sums);
    } else {
      SumSegment<kTileRows, 1>(p, p.segments[i], fetched, sums);
    }
    FinishSegments(p, p.segments + i, 1, sums, 0);
    if (fetched != nullptr) fetched += p.fetch.step * p.units * p.num_runs;
  }
}
#endif

// Elements behind the last column are read and do not count.
template <int kRows>
ONWARD_INLINE void DepthwiseOf(const PanelProduct& p, const char* from, float* to) {
  Vec sums[kRows][kVecs] = {};
  const float* panel = static_cast<const float*>(p.panel);
  for (int64_t run = 0; run < p.num_runs; ++run, panel += kCols) {
    const char* window = from + p.runs[run];
    ONWARD_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      const Vec column = Load(panel + v * kLanes);
      ONWARD_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto* row = reinterpret_cast<const ImageElement*>(window + r * p.pixel_bytes);
        sums[r][v] = Fma(LoadElements(row + v * kLanes), column, sums[r][v]);
      }
    }
  }
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ONWARD_UNROLL
    for (int v = 0; v < kVecs; ++v) Store(to + r * kCols + v * kLanes, sums[r][v]);
  }
}

// The same where the windows of neighbours are a pixel apart, as the kTaps runs of each row of
// them: a pixel is read once a row. Sums have the same order.
template <int kTaps, int kRows>
ONWARD_INLINE void DenseDepthwiseOf(const PanelProduct& p, const char* from, float* to) {
  for (int v = 0; v < kVecs; ++v) {
    Vec sums[kRows] = {};
    const float* panel = static_cast<const float*>(p.panel) + v * kLanes;
    for (int64_t run = 0; run < p.num_runs; run += kTaps) {
      const char* window = from + p.runs[run];
      Vec taps[kTaps];
      ONWARD_UNROLL
      for (int t = 0; t < kTaps; ++t, panel += kCols) taps[t] = Load(panel);
      ONWARD_UNROLL
      for (int i = 0; i < kRows + kTaps - 1; ++i) {
        const auto* pixel = reinterpret_cast<const ImageElement*>(window + i * p.pixel_bytes);
        const Vec x = LoadElements(pixel + v * kLanes);
        ONWARD_UNROLL
        for (int t = 0; t < kTaps; ++t)
          if (i >= t && i - t < kRows) sums[i - t] = Fma(x, taps[t], sums[i - t]);
      }
    }
    ONWARD_UNROLL
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
    int r = 0;
    if constexpr (kTileRows > 8) {
      if (p.segment_pixels % 7 == 0) r = DepthwiseRows<kTaps, 7>(p, from, r, sums);
      r = DepthwiseRows<kTaps, 8>(p, from, r, sums);
    }
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

#if defined(ONWARD_TARGET_AVX512BF16)
constexpr int kUnit = 2;
inline void PackUnit(const float* first, const float* second, float* to) {
  ONWARD_UNROLL
  for (int v = 0; v < kVecs; ++v, first += kLanes, to += kLanes) {
    Store(to, Pairs(Load(first), second == nullptr ? Vec{} : Load(second + v * kLanes)));
  }
}
#else
constexpr int kUnit = 1;
inline void PackUnit(const float* first, const float*, float* to) {
  ONWARD_UNROLL
  for (int v = 0; v < kVecs; ++v) Store(to + v * kLanes, Load(first + v * kLanes));
}
#endif

}  // namespace channels_last

const ChannelsLastProducts& LastProducts() {
  static constexpr ChannelsLastProducts kProducts = {
      .sizes = {.tile_rows = channels_last::kTileRows,
                .tile_cols = channels_last::kCols,
                .unit = channels_last::kUnit,
                .element_bytes = sizeof(ImageElement)},
      .segments = channels_last::kSegments,
      .step_units = channels_last::kStepUnits,
      .multiply = channels_last::Multiply,
      .depthwise = channels_last::Depthwise,
      .finish = channels_last::Finish,
      .pack_unit = channels_last::PackUnit,
  };
  return kProducts;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
