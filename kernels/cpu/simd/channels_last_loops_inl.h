#pragma once

#include "kernels/cpu/simd/bf16_inl.h"
#include "kernels/cpu/simd/channels_last_loops.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {
namespace channels_last {

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

inline void ToLast(const float* x, int64_t x_row, int64_t channels, int64_t pixels, uint16_t* to,
                   int64_t to_row) {
  const int64_t even = channels % 2 != 0 && channels < to_row ? channels + 1 : channels;
  if (even == to_row && even % 2 == 0 && even <= 4)
    return FewToLast(x, x_row, channels, pixels, to, to_row);
  for (int64_t c = 0; c < even; c += kLanes) {
    const int rows = channels - c < kLanes ? static_cast<int>(channels - c) : kLanes;
    const int width = even - c < kLanes ? static_cast<int>(even - c) : kLanes;
    for (int64_t p = 0; p < pixels; p += kLanes) {
      const int n = pixels - p < kLanes ? static_cast<int>(pixels - p) : kLanes;
      Vec block[kLanes];
      LoadTransposed(x + c * x_row + p, x_row, rows, n, block);
      ONWARD_UNROLL
      for (int i = 0; i < kLanes; ++i)
        if (i < n) StoreBf16(to + (p + i) * to_row + c, block[i], width);
    }
  }
}

inline void ToFirst(const uint16_t* x, int64_t x_row, int64_t channels, int64_t pixels, float* to,
                    int64_t to_row) {
  for (int64_t p = 0; p < pixels; p += kLanes) {
    const int n = pixels - p < kLanes ? static_cast<int>(pixels - p) : kLanes;
    for (int64_t c = 0; c < channels; c += kLanes) {
      const int width = channels - c < kLanes ? static_cast<int>(channels - c) : kLanes;
      Vec block[kLanes];
      ONWARD_UNROLL
      for (int i = 0; i < kLanes; ++i)
        block[i] = i < n ? LoadBf16N(x + (p + i) * x_row + c, width) : Vec{};
      Transpose(block);
      ONWARD_UNROLL
      for (int i = 0; i < kLanes; ++i)
        if (i < width) StoreLanes(to + (c + i) * to_row + p, block[i], n);
    }
  }
}

// Numbers of 16 bits in the order of the bfloat16 that they stand for, and back.
ONWARD_INLINE __m512i Ordered(__m512i x) {
  const __m512i sign = _mm512_srai_epi16(x, 15);
  return _mm512_xor_si512(x, _mm512_and_si512(sign, _mm512_set1_epi16(0x7fff)));
}

inline void Greatest(const uint16_t* x, int64_t step, int64_t taps, bool first, int64_t count,
                     uint16_t* y) {
  for (int64_t i = 0; i < count; i += 2 * kLanes) {
    const __mmask32 mask =
        count - i < 2 * kLanes ? (1u << static_cast<unsigned>(count - i)) - 1u : 0xffffffffu;
    const uint16_t* from = first ? x : y;
    __m512i most = Ordered(_mm512_maskz_loadu_epi16(mask, from + i));
    for (int64_t t = first ? 1 : 0; t < taps; ++t) {
      const __m512i other = Ordered(_mm512_maskz_loadu_epi16(mask, x + t * step + i));
      most = _mm512_maskz_max_epi16(0xffffffffu, most, other);
    }
    _mm512_mask_storeu_epi16(y + i, mask, Ordered(most));
  }
}

inline void Scale(const uint16_t* x, const float* factors, const float* terms, int64_t count,
                  uint16_t* y) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    const Vec term = terms == nullptr ? Vec{} : LoadLanes(terms + i, n);
    StoreBf16(y + i, Fma(LoadBf16N(x + i, n), LoadLanes(factors + i, n), term), n);
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

inline void Add(const uint16_t* x, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    StoreLanes(sums + i, LoadLanes(sums + i, n) + LoadBf16N(x + i, n), n);
  }
}

}  // namespace channels_last

const ChannelsLastLoops& LastLoops() {
  static constexpr ChannelsLastLoops kLoops = {
      .to_last = channels_last::ToLast,
      .to_first = channels_last::ToFirst,
      .greatest = channels_last::Greatest,
      .scale = channels_last::Scale,
      .sum = channels_last::Sum,
      .add = channels_last::Add,
  };
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
