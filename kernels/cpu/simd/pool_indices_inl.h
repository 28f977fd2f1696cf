// Maxima of windows and where they are.
#pragma once

#include "kernels/cpu/simd/pool_taps_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// The first n of the elements at x that lie `stride` apart; none is read between the last one and
// the next.
ONWARD_INLINE Vec LoadStrided(const float* x, int64_t stride, int n) {
  if (stride == 1) return LoadLanes(x, n);
  if (stride == 2) {
    const int span = 2 * n - 1, low = span < kLanes ? span : kLanes;
    const Vec a = LoadLanes(x, low), b = LoadN(x + low, span - low);
    return EvenLanes(a, b, std::make_integer_sequence<int, kLanes>());
  }
  float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i] = x[i * stride];
  return Load(lanes);
}

// Lanes whose value comes after those before: a NaN is above all, the first of equal ones stays.
ONWARD_INLINE IVec ComesAfter(Vec value, Vec before) {
  return ~(value <= before) & (before == before);
}

ONWARD_INLINE void StoreMaxima(const PoolRows& p, int64_t at, Vec values, IVec places, int n) {
  StoreLanes(p.y + at, values, n);
  int32_t lanes[kLanes];
  Store(reinterpret_cast<float*>(lanes), FromBits(places));
  for (int i = 0; i < n; ++i) p.indices[at + i] = p.first_index + lanes[i];
}

// The windows [i, i + n) of a row, all of whose columns lie inside the plane.
ONWARD_INLINE void MaximaInside(const PoolRows& p, const RowTaps& taps, const PoolAxis& columns,
                                int64_t row, int64_t i, int n) {
  const int64_t left = i * columns.stride - columns.pad;
  const IVec steps = LaneNumbers() * static_cast<int32_t>(columns.stride);
  Vec largest = Set(-__builtin_inff());
  IVec places = SetInt(-1);
  if (taps.num_bases * taps.count > 0)
    places = SetInt(static_cast<int32_t>(taps.bases[0] + taps.first + left)) + steps;
  for (int64_t b = 0; b < taps.num_bases; ++b) {
    int64_t offset = taps.bases[b] + taps.first + left;
    for (int64_t r = 0; r < taps.count; ++r, offset += taps.step) {
      for (int64_t k = 0; k < columns.kernel; ++k) {
        const int64_t at = offset + k * columns.dilation;
        const Vec value = LoadStrided(p.x + at, columns.stride, n);
        const IVec after = ComesAfter(value, largest);
        largest = Select(after, value, largest);
        places = after ? SetInt(static_cast<int32_t>(at)) + steps : places;
      }
    }
  }
  StoreMaxima(p, row * columns.output + i, largest, places, n);
}

// A window with columns in the padding.
inline void MaximumAtEdge(const PoolRows& p, const RowTaps& taps, const PoolAxis& columns,
                          int64_t row, int64_t i) {
  const TapRange inside = TapsAt(columns, i);
  float largest = -__builtin_inff();
  int64_t place = -1;
  for (int64_t b = 0; b < taps.num_bases; ++b) {
    for (int64_t r = 0; r < taps.count; ++r) {
      int64_t at = taps.bases[b] + taps.first + r * taps.step + inside.start;
      for (int64_t k = 0; k < inside.count; ++k, at += columns.dilation) {
        const float value = p.x[at];
        if (place >= 0 && (value <= largest || largest != largest)) continue;
        largest = value;
        place = at;
      }
    }
  }
  p.y[row * columns.output + i] = largest;
  p.indices[row * columns.output + i] = p.first_index + place;
}

inline void MaxWithIndices(const PoolRows& p, int64_t begin, int64_t end, float* scratch) {
  const PoolAxis& columns = p.axes[p.num_axes - 1];
  RowTaps taps;
  taps.bases = reinterpret_cast<int64_t*>(scratch);
  const int64_t reach = (columns.kernel - 1) * columns.dilation + 1;
  // The windows [low, high) lie inside.
  int64_t low = CeilDivision(columns.pad, columns.stride);
  int64_t high = columns.input + columns.pad < reach
                     ? 0
                     : (columns.input + columns.pad - reach) / columns.stride + 1;
  if (high > columns.output) high = columns.output;
  int64_t size = 1;
  for (int a = 0; a < p.num_axes; ++a) size *= p.axes[a].input;
  if (size > INT32_MAX) high = 0;  // places in lanes have 32 bits
  if (low > high) low = high;
  for (int64_t row = begin; row < end; ++row) {
    SetRow(p, begin, row, taps);
    for (int64_t i = 0; i < low; ++i) MaximumAtEdge(p, taps, columns, row, i);
    int64_t i = low;
    for (; i + kLanes <= high; i += kLanes) MaximaInside(p, taps, columns, row, i, kLanes);
    if (i < high) MaximaInside(p, taps, columns, row, i, static_cast<int>(high - i));
    for (i = high; i < columns.output; ++i) MaximumAtEdge(p, taps, columns, row, i);
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
