// One axis of GridSample and AffineGrid: where a coordinate of the grid reads the image, and with
// which weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/functor.h"

namespace onward::kernels {

enum class GridMode : uint8_t { kNearest, kLinear, kCubic };
enum class GridPadding : uint8_t { kZeros, kBorder, kReflection };

struct GridOptions {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
};

// The part of one axis in a sample: positions and weights, a weight of 0 outside the image.
struct GridTaps {
  static constexpr int64_t kMost = 4;
  int64_t count = 0;
  int64_t positions[kMost] = {};
  double weights[kMost] = {};
};

// Reflects x at both borders until it lies between them.
ONWARD_HOST_DEVICE inline double Reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const double distance = x < low ? low - x : x - high;
  const double turns = std::floor(distance / range);
  const double rest = distance - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

// Where in an image of `size` elements a grid coordinate is, of which -1 and 1 are the borders.
ONWARD_HOST_DEVICE inline double GridPosition(const GridOptions& options, double at, int64_t size) {
  const auto extent = static_cast<double>(size);
  // The standard's reference keeps this coordinate in float32.
  return static_cast<float>(options.align_corners ? (at + 1) / 2 * (extent - 1)
                                                  : ((at + 1) * extent - 1) / 2);
}

// The taps from element floor(x) on, before they meet the image's borders.
ONWARD_HOST_DEVICE inline GridTaps TapsBeside(GridMode mode, double x) {
  auto first = static_cast<int64_t>(x);
  if (mode != GridMode::kNearest && x < static_cast<double>(first)) --first;
  const double t = x - static_cast<double>(first);
  GridTaps taps;
  switch (mode) {
    case GridMode::kNearest:
      taps = {1, {}, {1}};
      break;
    case GridMode::kLinear:
      taps = {2, {}, {1 - t, t}};
      break;
    case GridMode::kCubic: {
      constexpr double kA = -0.75;
      const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
      const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
      taps = {4, {}, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
      --first;
      break;
    }
  }
  for (int64_t i = 0; i < taps.count; ++i) taps.positions[i] = first + i;
  return taps;
}

// `at`: a grid coordinate. Positions lie in [0, size), which is not empty.
ONWARD_HOST_DEVICE inline GridTaps GridTapsOf(const GridOptions& options, double at, int64_t size) {
  const auto extent = static_cast<double>(size);
  const double low = options.align_corners ? 0 : -0.5;
  const double high = options.align_corners ? extent - 1 : extent - 0.5;
  double x = GridPosition(options, at, size);
  x = x == x ? std::min(std::max(x, -1e12), 1e12) : -1e12;
  if (options.mode == GridMode::kNearest) x = std::rint(x);
  if (x < low || x > high) {
    // The cubic kernel reaches back over the border, so there only its taps are clamped.
    if (options.padding == GridPadding::kBorder && options.mode != GridMode::kCubic)
      x = std::min(std::max(x, 0.0), extent - 1);
    if (options.padding == GridPadding::kReflection)
      x = static_cast<float>(Reflected(x, low, high));
  }
  GridTaps taps = TapsBeside(options.mode, x);
  for (int64_t i = 0; i < taps.count; ++i) {
    int64_t position = taps.positions[i];
    if (options.padding == GridPadding::kZeros && (position < 0 || position >= size))
      taps.weights[i] = 0;
    if (options.padding == GridPadding::kReflection)
      position = static_cast<int64_t>(Reflected(static_cast<double>(position), low, high));
    taps.positions[i] = std::min(std::max<int64_t>(position, 0), size - 1);
  }
  return taps;
}

// The coordinate of element i of an axis in AffineGrid, of which -1 and 1 are the borders.
ONWARD_HOST_DEVICE inline double AffineCoordinate(bool align_corners, int64_t i, int64_t size) {
  const auto position = static_cast<double>(i), extent = static_cast<double>(size);
  if (!align_corners) return (2 * position + 1) / extent - 1;
  return size == 1 ? -1 : 2 * position / (extent - 1) - 1;
}

}  // namespace onward::kernels
