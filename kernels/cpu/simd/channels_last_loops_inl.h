#pragma once

#include "kernels/cpu/simd/channels_last_loops.h"
#include "kernels/cpu/simd/image_element_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {
namespace channels_last {

#if defined(ONWARD_TARGET_AVX512BF16)
// Four channels at most: two words a pixel.
inline void FewToLast(const float* x, int64_t x_row, int64_t channels, int64_t pixels, uint16_t* to,
                      int64_t to_row) {
  const auto channel = [&](int64_t c, int64_t p, int n) ONWARD_LAMBDA_INLINE {
    return c < channels ? LoadN(x + c * x_row + p, n) : Vec{};
  };
  const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  for (int64_t p = 0; p < pixels; p += kLanes) {
    const int n = pixels - p < kLanes ? static_cast<int>(pixels - p) : kLanes;
    const Vec first = Pairs(channel(0, p, n), channel(1, p, n));
    float* words = reinterpret_cast<float*>(to + p * to_row);
    if (channels <= 2) {
      StoreN(words, first, n);
      continue;
    }
    const Vec second = Pairs(channel(2, p, n), channel(3, p, n));
    const int in_low = n < 8 ? n : 8;
    StoreN(words, _mm512_maskz_permutex2var_ps(0xffff, first, low, second), 2 * in_low);
    if (n > 8)
      StoreN(words + kLanes, _mm512_maskz_permutex2var_ps(0xffff, first, high, second), 2 * n - 16);
  }
}

// Numbers of 16 bits in the order of the bfloat16 that they stand for, and back.
ONWARD_INLINE __m512i Ordered(__m512i x) {
  const __m512i sign = _mm512_srai_epi16(x, 15);
  return _mm512_xor_si512(x, _mm512_and_si512(sign, _mm512_set1_epi16(0x7fff)));
}

inline void Greatest(const void* x, int64_t step, int64_t taps, bool first, int64_t count,
                     void* y) {
  const auto* words = static_cast<const uint16_t*>(x);
  auto* to = static_cast<uint16_t*>(y);
  for (int64_t i = 0; i < count; i += 2 * kLanes) {
    const __mmask32 mask = FirstWords(count - i < 2 * kLanes ? static_cast<int>(count - i) : 32);
    __m512i most = Ordered(_mm512_maskz_loadu_epi16(mask, (first ? words : to) + i));
    for (int64_t t = first ? 1 : 0; t < taps; ++t) {
      const __m512i other = Ordered(_mm512_maskz_loadu_epi16(mask, words + t * step + i));
      most = _mm512_maskz_max_epi16(0xffffffffu, most, other);
    }
    _mm512_mask_storeu_epi16(to + i, mask, Ordered(most));
  }
}

inline void Sum(const uint16_t* x, int64_t x_step, const uint16_t* z, int64_t z_step, uint16_t* y,
                int64_t count) {
  const auto load = [](const uint16_t* from, int64_t step, int64_t i, int n) ONWARD_LAMBDA_INLINE {
    return step == 0 ? Set(__builtin_bit_cast(float, uint32_t{*from} << 16))
                     : LoadBf16N(from + i, n);
  };
  for (int64_t i = 0; i < count; i += kLanes) {
    const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    StoreBf16(y + i, load(x, x_step, i, n) + load(z, z_step, i, n), n);
  }
}
#else
// NaN where one of them is.
inline void Greatest(const void* x, int64_t step, int64_t taps, bool first, int64_t count,
                     void* y) {
  const auto* from = static_cast<const float*>(x);
  auto* to = static_cast<float*>(y);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    Vec most = LoadLanes((first ? from : to) + i, n);
    for (int64_t t = first ? 1 : 0; t < taps; ++t)
      most = Select(most != most, most, Max(most, LoadLanes(from + t * step + i, n)));
    StoreLanes(to + i, most, n);
  }
}
#endif

inline void ToLast(const float* x, int64_t x_row, int64_t channels, int64_t pixels, void* to,
                   int64_t to_row) {
  auto* elements = static_cast<ImageElement*>(to);
  int64_t padded = channels;
#if defined(ONWARD_TARGET_AVX512BF16)
  if (channels % 2 != 0 && channels < to_row) ++padded;
  if (padded == to_row && padded % 2 == 0 && padded <= 4)
    return FewToLast(x, x_row, channels, pixels, elements, to_row);
#endif
  for (int64_t c = 0; c < padded; c += kLanes) {
    const int rows = channels - c < kLanes ? static_cast<int>(channels - c) : kLanes;
    const int width = padded - c < kLanes ? static_cast<int>(padded - c) : kLanes;
    for (int64_t p = 0; p < pixels; p += kLanes) {
      const int n = pixels - p < kLanes ? static_cast<int>(pixels - p) : kLanes;
      Vec block[kLanes];
      LoadTransposed(x + c * x_row + p, x_row, rows, n, block);
      ONWARD_UNROLL
      for (int i = 0; i < kLanes; ++i)
        if (i < n) StoreElements(elements + (p + i) * to_row + c, block[i], width);
    }
  }
}

inline void ToFirst(const void* x, int64_t x_row, int64_t channels, int64_t pixels, float* to,
                    int64_t to_row) {
  const auto* elements = static_cast<const ImageElement*>(x);
  for (int64_t p = 0; p < pixels; p += kLanes) {
    const int n = pixels - p < kLanes ? static_cast<int>(pixels - p) : kLanes;
    for (int64_t c = 0; c < channels; c += kLanes) {
      const int width = channels - c < kLanes ? static_cast<int>(channels - c) : kLanes;
      Vec block[kLanes];
      ONWARD_UNROLL
      for (int i = 0; i < kLanes; ++i)
        block[i] = i < n ? LoadElements(elements + (p + i) * x_row + c, width) : Vec{};
      Transpose(block);
      ONWARD_UNROLL
      for (int i = 0; i < kLanes; ++i)
        if (i < width) StoreLanes(to + (c + i) * to_row + p, block[i], n);
    }
  }
}

// kVecs vectors of channels, the last of which has n lanes.
template <int kVecs>
ONWARD_INLINE void ScaleVectors(const ImageElement* x, int64_t step, int64_t pixels,
                                const float* factors, const float* terms, int n, ImageElement* y) {
  const auto lanes = [n](int v) ONWARD_LAMBDA_INLINE { return v == kVecs - 1 ? n : kLanes; };
  Vec factor[kVecs], term[kVecs];
  ONWARD_UNROLL
  for (int v = 0; v < kVecs; ++v) {
    factor[v] = LoadLanes(factors + v * kLanes, lanes(v));
    term[v] = terms == nullptr ? Vec{} : LoadLanes(terms + v * kLanes, lanes(v));
  }
  for (int64_t p = 0; p < pixels; ++p, x += step, y += step) {
    ONWARD_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      const Vec pixel = LoadElements(x + v * kLanes, lanes(v));
      StoreElements(y + v * kLanes, Fma(pixel, factor[v], term[v]), lanes(v));
    }
  }
}

inline void Scale(const void* x, int64_t step, int64_t pixels, const float* factors,
                  const float* terms, int64_t count, void* y) {
  const auto* from = static_cast<const ImageElement*>(x);
  auto* to = static_cast<ImageElement*>(y);
  const auto at = [terms](int64_t i)
                      ONWARD_LAMBDA_INLINE { return terms == nullptr ? nullptr : terms + i; };
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    ScaleVectors<4>(from + i, step, pixels, factors + i, at(i), kLanes, to + i);
  for (; i < count; i += kLanes) {
    const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    ScaleVectors<1>(from + i, step, pixels, factors + i, at(i), n, to + i);
  }
}

// The sums of kVecs vectors of channels, the last of which has n lanes.
template <int kVecs>
ONWARD_INLINE void AddVectors(const ImageElement* x, int64_t step, int64_t pixels, int n,
                              float* sums) {
  Vec totals[kVecs] = {};
  for (int64_t p = 0; p < pixels; ++p, x += step) {
    ONWARD_UNROLL
    for (int v = 0; v < kVecs; ++v)
      totals[v] += LoadElements(x + v * kLanes, v == kVecs - 1 ? n : kLanes);
  }
  ONWARD_UNROLL
  for (int v = 0; v < kVecs; ++v)
    StoreLanes(sums + v * kLanes, totals[v], v == kVecs - 1 ? n : kLanes);
}

inline void AddPixels(const void* x, int64_t step, int64_t pixels, int64_t count, float* sums) {
  const auto* from = static_cast<const ImageElement*>(x);
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    AddVectors<4>(from + i, step, pixels, kLanes, sums + i);
  for (; i < count; i += kLanes) {
    const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    AddVectors<1>(from + i, step, pixels, n, sums + i);
  }
}

}  // namespace channels_last

const ChannelsLastLoops& LastLoops() {
  static constexpr ChannelsLastLoops kLoops = {
    .element_bytes = sizeof(ImageElement),
    .to_last = channels_last::ToLast,
    .to_first = channels_last::ToFirst,
    .greatest = channels_last::Greatest,
    .scale = channels_last::Scale,
    .add_pixels = channels_last::AddPixels,
#if defined(ONWARD_TARGET_AVX512BF16)
    .sum = channels_last::Sum,
#else
    .sum = nullptr,
#endif
  };
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
