#pragma once

#include "kernels/cpu/simd/bf16_inl.h"
#include "kernels/cpu/simd/conv_bf16.h"
#include "kernels/cpu/simd/copy_run_inl.h"
#include "kernels/cpu/simd/patch_vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {
// Bit j: whether begin + j lies in [0, size).
ONWARD_INLINE __mmask16 Inside(int64_t begin, int64_t size) {
  const int64_t low = begin < 0 ? -begin : 0, high = size - begin;
  if (low >= kLanes || high <= low) return 0;
  const unsigned below_high = high >= kLanes ? 0xffffu : (1u << high) - 1u;
  return static_cast<__mmask16>(below_high & (0xffffu << low));
}

// Lane i: row[at + i * stride], zero outside of [0, size).
ONWARD_INLINE Vec LoadPadded(const float* row, int64_t at, int64_t stride, int64_t size) {
  if (stride == 1) return _mm512_maskz_loadu_ps(Inside(at, size), row + at);
  if (stride == 2) {
    const Vec low = _mm512_maskz_loadu_ps(Inside(at, size), row + at);
    const Vec high = _mm512_maskz_loadu_ps(Inside(at + kLanes, size), row + at + kLanes);
    return EvenLanes(low, high, std::make_integer_sequence<int, kLanes>());
  }
  Vec v = {};
  for (int i = 0; i < kLanes; ++i) {
    const int64_t from = at + i * stride;
    if (from >= 0 && from < size) v[i] = row[from];
  }
  return v;
}

// Calls f(offset in x, column of its first element, offset in the planes) for each row of the
// planes; -1 for a row of padding.
template <typename F>
ONWARD_INLINE void ForEachPlaneRow(const PatchWindow& w, F&& f) {
  const int64_t width = PlaneWidth(w), rows = PlaneRows(w);
  for (int64_t ph = 0; ph < w.stride_h; ++ph) {
    if (!ReadsPhase(w.kernel_h, w.dilation_h, w.stride_h, ph)) continue;
    for (int64_t pw = 0; pw < w.stride_w; ++pw) {
      if (!ReadsPhase(w.kernel_w, w.dilation_w, w.stride_w, pw)) continue;
      const int64_t plane = (ph * w.stride_w + pw) * rows;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t y = r * w.stride_h + ph - w.pad_top;
        f(y >= 0 && y < w.in_h ? y * w.in_w : -1, pw - w.pad_left, (plane + r) * width);
      }
    }
  }
}

ONWARD_INLINE __mmask32 FirstHalves(int64_t n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1u; }

inline void SplitChannelToBf16(const PatchWindow& w, const float* x, uint16_t* planes) {
  const int64_t width = PlaneWidth(w);
  ForEachPlaneRow(w, [&](int64_t from, int64_t column, int64_t to) ONWARD_LAMBDA_INLINE {
    for (int64_t i = 0; i < width; i += 2 * kLanes) {
      Vec words = {};
      if (from >= 0) {
        const int64_t at = column + i * w.stride_w;
        words = InOrder(LoadPadded(x + from, at, w.stride_w, w.in_w),
                        LoadPadded(x + from, at + kLanes * w.stride_w, w.stride_w, w.in_w));
      }
      _mm512_mask_storeu_epi16(planes + to + i, FirstHalves(width - i),
                               reinterpret_cast<__m512i>(words));
    }
  });
}

inline void SplitTwoChannels(const PatchWindow& w, const float* x, const float* other,
                             float* planes) {
  const int64_t width = PlaneWidth(w);
  ForEachPlaneRow(w, [&](int64_t from, int64_t column, int64_t to) ONWARD_LAMBDA_INLINE {
    for (int64_t i = 0; i < width; i += kLanes) {
      Vec words = {};
      if (from >= 0) {
        const int64_t at = column + i * w.stride_w;
        const Vec second =
            other == nullptr ? Vec{} : LoadPadded(other + from, at, w.stride_w, w.in_w);
        words = Pairs(LoadPadded(x + from, at, w.stride_w, w.in_w), second);
      }
      StoreLanes(planes + to + i, words, width - i < kLanes ? static_cast<int>(width - i) : kLanes);
    }
  });
}

// A row's last vector may be stored beyond it: the next row overwrites what it wrote there.
inline void CopyRowsOfBf16(const uint16_t* from, int64_t from_row, int64_t rows, int64_t width,
                           uint16_t* to) {
  constexpr int64_t kHalves = 2 * kLanes;
  const __mmask32 last = FirstHalves((width - 1) % kHalves + 1);
  const int64_t count = rows * width, last_begin = (width - 1) / kHalves * kHalves;
  uint16_t* const end = to + count;
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += width) {
    for (int64_t i = 0; i < last_begin; i += kHalves)
      _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
    const __m512i rest = _mm512_maskz_loadu_epi16(last, from + last_begin);
    if (to + last_begin + kHalves <= end) {
      _mm512_storeu_si512(to + last_begin, rest);
    } else {
      _mm512_mask_storeu_epi16(to + last_begin, last, rest);
    }
  }
  if (count % 2 != 0) *end = 0;
}

ONWARD_INLINE Vec LoadPieces(const PatchVec& vec, const float* base) {
  const __mmask16 lanes = FirstLanes(vec.lanes);
  Vec v = _mm512_maskz_loadu_ps(lanes, base + vec.pieces[0].offset);
  for (int i = 1; i < vec.num_pieces; ++i) {
    v = _mm512_mask_loadu_ps(v, static_cast<__mmask16>(vec.pieces[i].mask & lanes),
                             base + vec.pieces[i].offset);
  }
  return v;
}

inline void PackPoints(const PatchSource& source, int64_t pixel, int64_t count, int64_t begin,
                       int64_t end, int width, int64_t panel, float* packed) {
  PatchVecs all;
  SetPatchVecs(source, pixel, count, width, all);
  for (int64_t c = begin; c < end; c += 2, packed += width) {
    const float* x = source.planes + c * source.channel;
    const PatchVec* next = all.vecs;
    for (int p = 0; p < all.num_panels; next += all.of_panel[p++]) {
      for (int i = 0; i < all.of_panel[p]; ++i) {
        const Vec second = c + 1 < end ? LoadPieces(next[i], x + source.channel) : Vec{};
        Store(packed + p * panel + i * kLanes, Pairs(LoadPieces(next[i], x), second));
      }
    }
  }
}

// Lane i: w[index[i]], i < n; all of w are read.
ONWARD_INLINE Vec LoadIndexed(const float* w, int64_t taps, const int32_t* index, int n) {
  const __m512i at = _mm512_maskz_loadu_epi32(FirstLanes(n), index);
  if (taps <= kLanes) {
    const Vec all = LoadN(w, static_cast<int>(taps));
    return _mm512_maskz_permutexvar_ps(FirstLanes(n), at, all);
  }
  return _mm512_mask_i32gather_ps(Vec{}, FirstLanes(n), at, w, 4);
}

inline void PackFilter(const float* w, int64_t channel, int64_t channels, int64_t taps,
                       const int32_t* index, int64_t count, float* to) {
  for (int64_t c = 0; c < channels; c += 2, w += 2 * channel, to += count) {
    for (int64_t i = 0; i < count; i += kLanes) {
      const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
      const Vec second = c + 1 < channels ? LoadIndexed(w + channel, taps, index + i, n) : Vec{};
      StoreLanes(to + i, Pairs(LoadIndexed(w, taps, index + i, n), second), n);
    }
  }
}

const ConvPairsKernels& ConvPairs() {
  static constexpr ConvPairsKernels kKernels = {SplitChannelToBf16, SplitTwoChannels,
                                                CopyRowsOfBf16, PackPoints, PackFilter};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
