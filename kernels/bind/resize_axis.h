// One axis of Resize: where each output position reads, and with which weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/functor.h"

namespace onward::kernels {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class Coordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize,
};
enum class NearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

struct ResizeRule {
  ResizeMode mode = ResizeMode::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_a = -0.75;
};

struct ResizeAxis {
  int64_t axis = 0;
  int64_t in = 0, out = 0;  // sizes
  double scale = 1;
  double roi_begin = 0, roi_end = 1;  // of kTfCropAndResize
};

// Where output position x lies in the input.
ONWARD_HOST_DEVICE inline double OriginOf(const ResizeRule& rule, const ResizeAxis& axis,
                                          int64_t x) {
  const auto position = static_cast<double>(x), in = static_cast<double>(axis.in);
  const double width = axis.scale * in;  // a fraction when the size was rounded
  switch (rule.coordinates) {
    case Coordinates::kHalfPixel:
      return (position + 0.5) / axis.scale - 0.5;
    case Coordinates::kHalfPixelSymmetric: {
      const double adjustment = static_cast<double>(axis.out) / width;
      return in / 2 * (1 - adjustment) + (position + 0.5) / axis.scale - 0.5;
    }
    case Coordinates::kPytorchHalfPixel:
      return axis.out > 1 ? (position + 0.5) / axis.scale - 0.5 : 0;
    case Coordinates::kAlignCorners:
      return width == 1 ? 0 : position * (in - 1) / (width - 1);
    case Coordinates::kAsymmetric:
      return position / axis.scale;
    case Coordinates::kTfCropAndResize: {
      const double extent = (axis.roi_end - axis.roi_begin) * (in - 1);
      const double offset = width == 1 ? extent / 2 : position * extent / (width - 1);
      return offset + axis.roi_begin * (in - 1);
    }
  }
  return 0;
}

ONWARD_HOST_DEVICE inline double NearestTo(NearestMode mode, double x) {
  switch (mode) {
    case NearestMode::kRoundPreferFloor:
      return std::ceil(x - 0.5);
    case NearestMode::kRoundPreferCeil:
      return std::floor(x + 0.5);
    case NearestMode::kFloor:
      return std::floor(x);
    case NearestMode::kCeil:
      return std::ceil(x);
  }
  return x;
}

// Keys' cubic convolution kernel.
ONWARD_HOST_DEVICE inline double Cubic(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

ONWARD_HOST_DEVICE inline double WeightAt(const ResizeRule& rule, double distance) {
  if (rule.mode == ResizeMode::kCubic) return Cubic(rule.cubic_a, distance);
  return std::max(0.0, 1 - std::fabs(distance));
}

// Antialiasing stretches the kernel when the axis shrinks.
ONWARD_HOST_DEVICE inline double StretchOf(const ResizeRule& rule, double scale) {
  return rule.antialias ? std::min(scale, 1.0) : 1.0;
}

// Input elements that one output position of the axis reads.
int64_t ResizeTaps(const ResizeRule& rule, double scale);

// Fills, for each of axis.out positions, `taps` positions of the input in [0, axis.in) and their
// weights, which sum to one. A position outside the region of kTfCropAndResize gets -1 as its first
// tap. The standard: Resize, coordinate_transformation_mode and the figures of its reference.
void FillResizeTaps(const ResizeRule& rule, const ResizeAxis& axis, int64_t taps,
                    absl::Span<int64_t> positions, absl::Span<double> weights);

}  // namespace onward::kernels
