#include "kernels/cpu/reference/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace onward::kernels::cpu {
namespace {

// Where output position x lies in the input.
double Original(const ResizeRule& rule, const ResizeAxis& axis, int64_t x) {
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

double Nearest(NearestMode mode, double x) {
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
double Cubic(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double Weight(const ResizeRule& rule, double distance) {
  if (rule.mode == ResizeMode::kCubic) return Cubic(rule.cubic_a, distance);
  return std::max(0.0, 1 - std::fabs(distance));
}

// Antialiasing stretches the kernel when the axis shrinks.
double Stretch(const ResizeRule& rule, double scale) {
  return rule.antialias ? std::min(scale, 1.0) : 1.0;
}

}  // namespace

int64_t ResizeTaps(const ResizeRule& rule, double scale) {
  if (rule.mode == ResizeMode::kNearest) return 1;
  const double radius = rule.mode == ResizeMode::kCubic ? 2 : 1;
  return 2 * static_cast<int64_t>(std::ceil(std::min(radius / Stretch(rule, scale), 1e12)));
}

void FillResizeTaps(const ResizeRule& rule, const ResizeAxis& axis, int64_t taps,
                    absl::Span<int64_t> positions, absl::Span<double> weights) {
  const double stretch = Stretch(rule, axis.scale), last = static_cast<double>(axis.in - 1);
  for (int64_t x = 0; x < axis.out; ++x) {
    int64_t* at = positions.data() + x * taps;
    double* weight = weights.data() + x * taps;
    const double origin = Original(rule, axis, x);
    if (rule.coordinates == Coordinates::kTfCropAndResize && !(origin >= 0 && origin <= last)) {
      std::fill_n(at, taps, -1);
      continue;
    }
    // Far away every position reads the border; the clamp keeps the conversions below defined.
    const double center = std::clamp(origin, -9e15, 9e15);
    if (rule.mode == ResizeMode::kNearest) {
      *at = static_cast<int64_t>(std::clamp(Nearest(rule.nearest, center), 0.0, last));
      *weight = 1;
      continue;
    }
    const auto left = static_cast<int64_t>(std::floor(center));
    double sum = 0;
    for (int64_t i = 0; i < taps; ++i) {
      const int64_t position = left + i + 1 - taps / 2;
      const bool outside = position < 0 || position >= axis.in;
      at[i] = std::clamp<int64_t>(position, 0, axis.in - 1);
      weight[i] = rule.exclude_outside && outside
                      ? 0
                      : Weight(rule, (static_cast<double>(position) - center) * stretch);
      sum += weight[i];
    }
    for (int64_t i = 0; i < taps && sum != 0; ++i) weight[i] /= sum;
  }
}

}  // namespace onward::kernels::cpu
