#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/copy_run_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"
#include "kernels/cpu/simd/winograd.h"
#include "kernels/cpu/simd/winograd_axis_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// taps[y][x] of kLanes filters, of which `filters` are there.
ONWARD_INLINE void LoadTaps(const WinogradFilters& f, int first, int filters, Vec (&taps)[3][3]) {
  const float* w = f.w + first * f.filter_step;
  for (int t = 0; t < 9; t += kLanes) {
    const int n = 9 - t < kLanes ? 9 - t : kLanes;
    Vec block[kLanes];
    LoadTransposed(w + t, f.filter_step, filters, n, block);
    for (int i = 0; i < n; ++i) {
      const int tap = f.reversed ? 8 - (t + i) : t + i;
      taps[tap / 3][tap % 3] = block[i];
    }
  }
}

template <int kOutput>
void TransformFilters(const WinogradFilters& f) {
  constexpr int kWindow = kOutput + 2;
  for (int first = 0; first < f.filters; first += kLanes) {
    const int n = f.filters - first < kLanes ? f.filters - first : kLanes;
    Vec taps[3][3], columns[kWindow][3];
    LoadTaps(f, first, n, taps);
    ONWARD_UNROLL
    for (int x = 0; x < 3; ++x) {
      Vec to[kWindow];
      WinogradAxis<kOutput>::Filter({taps[0][x], taps[1][x], taps[2][x]}, to);
      ONWARD_UNROLL
      for (int y = 0; y < kWindow; ++y) columns[y][x] = to[y];
    }
    ONWARD_UNROLL
    for (int y = 0; y < kWindow; ++y) {
      Vec to[kWindow];
      WinogradAxis<kOutput>::Filter(columns[y], to);
      ONWARD_UNROLL
      for (int x = 0; x < kWindow; ++x)
        StoreLanes(f.u + (y * kWindow + x) * f.step + first, to[x], n);
    }
  }
}

// v moved down by one lane, with `last` in the last one.
template <int... I>
ONWARD_INLINE Vec NextLanes(Vec v, float last, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, Set(last), (I + 1)...);
}

// Pixels of a row of kMaxWinogradTiles windows, and those that fill vectors.
template <int kOutput>
inline constexpr int kWinogradRow = kMaxWinogradTiles* kOutput + 2 * kLanes;

// Transforms the columns of pixels: rows[f] is frequency f along y of all pixels that the windows
// have, from the leftmost on, and zero to the end of the last vector of windows: what the stack
// holds there may be denormal, which takes some processors a hundred times as long.
template <int kOutput>
ONWARD_INLINE void TransformColumns(const WinogradWindows& w,
                                    float (&rows)[kOutput + 2][kWinogradRow<kOutput>]) {
  constexpr int kWindow = kOutput + 2;
  static constexpr float kZeros[kWinogradRow<kOutput>] = {};
  const int count = w.tiles * kOutput + 2;
  const int begin = w.left < 0 ? static_cast<int>(w.left < -count ? count : -w.left) : 0;
  const int64_t inside = w.in_w - w.left;
  const int end = inside < begin ? begin : inside < count ? static_cast<int>(inside) : count;
  const float* from[kWindow];
  for (int r = 0; r < kWindow; ++r) {
    const int64_t y = w.top + r;
    from[r] = y < 0 || y >= w.in_h ? kZeros : w.x + y * w.in_w + (w.left + begin);
  }
  int i = begin;
  for (; i < end; i += kLanes) {
    const int n = end - i < kLanes ? end - i : kLanes;
    Vec column[kWindow], to[kWindow];
    ONWARD_UNROLL
    for (int r = 0; r < kWindow; ++r) column[r] = LoadLanes(from[r] + (i - begin), n);
    WinogradAxis<kOutput>::Window(column, to);
    ONWARD_UNROLL
    for (int f = 0; f < kWindow; ++f) Store(rows[f] + i, to[f]);
  }
  const int read = (w.tiles + kLanes - 1) / kLanes * kLanes * kOutput + 2;
  for (int f = 0; f < kWindow; ++f) {
    for (int k = 0; k < begin; ++k) rows[f][k] = 0;
    for (int k = i; k < read; k += kLanes) Store(rows[f] + k, Vec{});
  }
}

// pixels[x] = pixel x of kLanes tiles of 2 or 4 that lie one after another.
ONWARD_INLINE void LoadRowOfTiles(const float* row, Vec (&pixels)[2]) {
  const auto lanes = std::make_integer_sequence<int, kLanes>();
  const Vec low = Load(row), high = Load(row + kLanes);
  pixels[0] = EvenLanes(low, high, lanes);
  pixels[1] = OddLanes(low, high, lanes);
}
ONWARD_INLINE void LoadRowOfTiles(const float* row, Vec (&pixels)[4]) {
  const auto lanes = std::make_integer_sequence<int, kLanes>();
  Vec even[2], odd[2];
  ONWARD_UNROLL
  for (int i = 0; i < 2; ++i) {
    const Vec low = Load(row + 2 * i * kLanes), high = Load(row + (2 * i + 1) * kLanes);
    even[i] = EvenLanes(low, high, lanes);
    odd[i] = OddLanes(low, high, lanes);
  }
  pixels[0] = EvenLanes(even[0], even[1], lanes);
  pixels[1] = EvenLanes(odd[0], odd[1], lanes);
  pixels[2] = OddLanes(even[0], even[1], lanes);
  pixels[3] = OddLanes(odd[0], odd[1], lanes);
}

// window[x] = pixel x of kLanes windows that lie kOutput pixels apart.
template <int kOutput>
ONWARD_INLINE void LoadWindows(const float* row, Vec (&window)[kOutput + 2]) {
  const auto lanes = std::make_integer_sequence<int, kLanes>();
  Vec pixels[kOutput];
  LoadRowOfTiles(row, pixels);
  ONWARD_UNROLL
  for (int x = 0; x < kOutput; ++x) window[x] = pixels[x];
  window[kOutput] = NextLanes(pixels[0], row[kOutput * kLanes], lanes);
  window[kOutput + 1] = NextLanes(pixels[1], row[kOutput * kLanes + 1], lanes);
}

template <int kOutput>
void TransformWindows(const WinogradWindows& w) {
  constexpr int kWindow = kOutput + 2;
  float rows[kWindow][kWinogradRow<kOutput>];
  TransformColumns<kOutput>(w, rows);
  for (int j = 0; j < w.tiles; j += kLanes) {
    const int n = w.tiles - j < kLanes ? w.tiles - j : kLanes;
    ONWARD_UNROLL
    for (int y = 0; y < kWindow; ++y) {
      Vec window[kWindow], to[kWindow];
      LoadWindows<kOutput>(rows[y] + j * kOutput, window);
      WinogradAxis<kOutput>::Window(window, to);
      ONWARD_UNROLL
      for (int x = 0; x < kWindow; ++x) StoreLanes(w.v + (y * kWindow + x) * w.step + j, to[x], n);
    }
  }
}

template <int kOutput>
void TransformPixels(const WinogradWindows& w) {
  constexpr int kWindow = kOutput + 2, kMost = kMaxWinogradTiles * kOutput;
  static constexpr float kZeros[kMost] = {};
  float rows[kWindow][kMost];
  const int count = w.tiles * kOutput;
  const int end = w.in_w - w.left < count ? static_cast<int>(w.in_w - w.left) : count;
  const float* from[kOutput];
  for (int r = 0; r < kOutput; ++r)
    from[r] = w.top + r < w.in_h ? w.x + (w.top + r) * w.in_w + w.left : kZeros;
  int i = 0;
  for (; i < end; i += kLanes) {
    const int n = end - i < kLanes ? end - i : kLanes;
    Vec column[kOutput], to[kWindow];
    ONWARD_UNROLL
    for (int r = 0; r < kOutput; ++r) column[r] = LoadLanes(from[r] + i, n);
    WinogradAxis<kOutput>::Pixels(column, to);
    ONWARD_UNROLL
    for (int f = 0; f < kWindow; ++f) Store(rows[f] + i, to[f]);
  }
  const int read = (w.tiles + kLanes - 1) / kLanes * kLanes * kOutput;
  for (; i < read; i += kLanes)
    for (int f = 0; f < kWindow; ++f) Store(rows[f] + i, Vec{});
  for (int j = 0; j < w.tiles; j += kLanes) {
    const int n = w.tiles - j < kLanes ? w.tiles - j : kLanes;
    ONWARD_UNROLL
    for (int y = 0; y < kWindow; ++y) {
      Vec pixels[kOutput], to[kWindow];
      LoadRowOfTiles(rows[y] + j * kOutput, pixels);
      WinogradAxis<kOutput>::Pixels(pixels, to);
      ONWARD_UNROLL
      for (int x = 0; x < kWindow; ++x) StoreLanes(w.v + (y * kWindow + x) * w.step + j, to[x], n);
    }
  }
}

template <int kOutput>
void StoreTaps(const WinogradTapSums& t) {
  constexpr int kWindow = kOutput + 2;
  for (int c = 0; c < t.channels; c += kLanes) {
    const int n = t.channels - c < kLanes ? t.channels - c : kLanes;
    Vec rows[3][kWindow];
    ONWARD_UNROLL
    for (int y = 0; y < kWindow; ++y) {
      Vec row[kWindow], to[3];
      ONWARD_UNROLL
      for (int x = 0; x < kWindow; ++x) row[x] = LoadLanes(t.u + (y * kWindow + x) * t.step + c, n);
      WinogradAxis<kOutput>::Taps(row, to);
      ONWARD_UNROLL
      for (int x = 0; x < 3; ++x) rows[x][y] = to[x];
    }
    float taps[9][kLanes];
    ONWARD_UNROLL
    for (int x = 0; x < 3; ++x) {
      Vec to[3];
      WinogradAxis<kOutput>::Taps(rows[x], to);
      ONWARD_UNROLL
      for (int y = 0; y < 3; ++y) Store(taps[3 * y + x], to[y]);
    }
    for (int lane = 0; lane < n; ++lane)
      for (int tap = 0; tap < 9; ++tap) t.w[(c + lane) * 9 + tap] = taps[tap][lane];
  }
}

// rows[y][j * kOutput + x] = pixel (y, x) of tile j.
template <int kOutput>
void PixelsOfTiles(const WinogradTiles& t, float (*rows)[kMaxWinogradTiles * kOutput]) {
  constexpr int kWindow = kOutput + 2;
  const Vec bias = Set(t.bias);
  for (int j = 0; j < t.tiles; j += kLanes) {
    const int n = t.tiles - j < kLanes ? t.tiles - j : kLanes;
    Vec columns[kWindow][kOutput];
    ONWARD_UNROLL
    for (int x = 0; x < kWindow; ++x) {
      Vec column[kWindow];
      ONWARD_UNROLL
      for (int y = 0; y < kWindow; ++y) {
        column[y] = LoadLanes(t.products + (y * kWindow + x) * t.step + j, n);
      }
      WinogradAxis<kOutput>::Output(column, columns[x]);
    }
    ONWARD_UNROLL
    for (int y = 0; y < kOutput; ++y) {
      Vec row[kWindow], pixels[kOutput];
      ONWARD_UNROLL
      for (int x = 0; x < kWindow; ++x) row[x] = columns[x][y];
      WinogradAxis<kOutput>::Output(row, pixels);
      ONWARD_UNROLL
      for (int x = 0; x < kOutput; ++x) pixels[x] += bias;
      StoreInterleaved(pixels, rows[y] + j * kOutput);
    }
  }
}

template <int kOutput>
void StoreTiles(const WinogradTiles& t) {
  float rows[kOutput][kMaxWinogradTiles * kOutput];
  PixelsOfTiles<kOutput>(t, rows);
  int64_t tile_y = t.first / t.tiles_w, tile_x = t.first % t.tiles_w;
  WithActivation(t.activation, [&](auto f) ONWARD_LAMBDA_INLINE {
    for (int j = 0; j < t.tiles; ++tile_y, tile_x = 0) {
      const int64_t left = t.tiles_w - tile_x;
      const int tiles = t.tiles - j < left ? t.tiles - j : static_cast<int>(left);
      const int64_t x = tile_x * kOutput, most = t.out_w - x;
      const int pixels = tiles * kOutput < most ? tiles * kOutput : static_cast<int>(most);
      for (int r = 0; r < kOutput && tile_y * kOutput + r < t.out_h; ++r) {
        const int64_t at = (tile_y * kOutput + r) * t.out_w + x;
        const float* from = rows[r] + j * kOutput;
        for (int i = 0; i < pixels; i += kLanes) {
          const int n = pixels - i < kLanes ? pixels - i : kLanes;
          Vec v = LoadLanes(from + i, n);
          if (t.residual != nullptr) v += LoadLanes(t.residual + at + i, n);
          StoreLanes(t.y + at + i, f(v), n);
        }
      }
      j += tiles;
    }
  });
}

template <int kOutput>
inline constexpr WinogradKernels kWinogradKernels = {
    TransformFilters<kOutput>, TransformWindows<kOutput>, StoreTiles<kOutput>,
    TransformPixels<kOutput>,  StoreTaps<kOutput>,
};

const WinogradKernels& Winograd2() { return kWinogradKernels<2>; }
const WinogradKernels& Winograd4() { return kWinogradKernels<4>; }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
