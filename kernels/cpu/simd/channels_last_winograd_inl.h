#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/channels_last_winograd.h"
#include "kernels/cpu/simd/image_element_inl.h"
#include "kernels/cpu/simd/winograd_axis_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {
namespace channels_last {

constexpr int kWindow = 6, kTile = 4;

inline void TransformWindow(const LastWindow& w) {
  for (int64_t c = 0; c < w.channels; c += kLanes) {
    const int n = w.channels - c < kLanes ? static_cast<int>(w.channels - c) : kLanes;
    alignas(64) float rows[kWindow][kWindow][kLanes];  // [y][frequency along x]
    for (int y = 0; y < kWindow; ++y) {
      Vec pixels[kWindow], to[kWindow];
      ONWARD_UNROLL
      for (int x = 0; x < kWindow; ++x) {
        const auto* pixel = static_cast<const ImageElement*>(w.pixels[y * kWindow + x]);
        pixels[x] = LoadElements(pixel + c, n);
      }
      WinogradAxis<kTile>::Window(pixels, to);
      ONWARD_UNROLL
      for (int x = 0; x < kWindow; ++x) Store(rows[y][x], to[x]);
    }
    for (int x = 0; x < kWindow; ++x) {
      Vec column[kWindow], to[kWindow];
      ONWARD_UNROLL
      for (int y = 0; y < kWindow; ++y) column[y] = Load(rows[y][x]);
      WinogradAxis<kTile>::Window(column, to);
      ONWARD_UNROLL
      for (int y = 0; y < kWindow; ++y) StoreLanes(w.v + (y * kWindow + x) * w.step + c, to[y], n);
    }
  }
}

template <typename Activate>
ONWARD_INLINE void StoreFilters(const LastTile& t, int first, int n, Activate&& activate) {
  alignas(64) float columns[kTile][kWindow][kLanes];  // [y][frequency along x]
  for (int x = 0; x < kWindow; ++x) {
    Vec column[kWindow], to[kTile];
    ONWARD_UNROLL
    for (int y = 0; y < kWindow; ++y)
      column[y] = LoadLanes(t.products + (y * kWindow + x) * t.step + first, n);
    WinogradAxis<kTile>::Output(column, to);
    ONWARD_UNROLL
    for (int y = 0; y < kTile; ++y) Store(columns[y][x], to[y]);
  }
  const Vec bias = t.bias == nullptr ? Vec{} : LoadLanes(t.bias + first, n);
  const auto* residual = static_cast<const ImageElement*>(t.residual);
  auto* to = static_cast<ImageElement*>(t.y);
  for (int y = 0; y < t.rows; ++y) {
    Vec row[kWindow], pixels[kTile];
    ONWARD_UNROLL
    for (int x = 0; x < kWindow; ++x) row[x] = Load(columns[y][x]);
    WinogradAxis<kTile>::Output(row, pixels);
    const int64_t at = y * t.y_row + first;
    ONWARD_UNROLL
    for (int x = 0; x < kTile; ++x) {
      if (x >= t.columns) break;
      Vec v = pixels[x] + bias;
      if (residual != nullptr) v += LoadElements(residual + at + x * t.y_pixel, n);
      StoreElements(to + at + x * t.y_pixel, activate(v), n);
    }
  }
}

inline void StoreTile(const LastTile& t) {
  WithActivation(t.activation, [&](auto activate) ONWARD_LAMBDA_INLINE {
    for (int i = 0; i < t.filters; i += kLanes)
      StoreFilters(t, i, t.filters - i < kLanes ? t.filters - i : kLanes, activate);
  });
}

}  // namespace channels_last

const LastWinogradKernels& LastWinograd() {
  static constexpr LastWinogradKernels kKernels = {
      .transform_window = channels_last::TransformWindow, .store_tile = channels_last::StoreTile};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
