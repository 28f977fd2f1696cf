#include "kernels/bind/resize_axis.h"

namespace onward::kernels {
int64_t ResizeTaps(const ResizeRule& rule, double scale) {
  if (rule.mode == ResizeMode::kNearest) return 1;
  const double radius = rule.mode == ResizeMode::kCubic ? 2 : 1;
  return 2 * static_cast<int64_t>(std::ceil(std::min(radius / StretchOf(rule, scale), 1e12)));
}

void FillResizeTaps(const ResizeRule& rule, const ResizeAxis& axis, int64_t taps,
                    absl::Span<int64_t> positions, absl::Span<double> weights) {
  const double stretch = StretchOf(rule, axis.scale), last = static_cast<double>(axis.in - 1);
  for (int64_t x = 0; x < axis.out; ++x) {
    int64_t* at = positions.data() + x * taps;
    double* weight = weights.data() + x * taps;
    const double origin = OriginOf(rule, axis, x);
    if (rule.coordinates == Coordinates::kTfCropAndResize && !(origin >= 0 && origin <= last)) {
      std::fill_n(at, taps, -1);
      continue;
    }
    // Far away every position reads the border; the clamp keeps the conversions below defined.
    const double center = std::clamp(origin, -9e15, 9e15);
    if (rule.mode == ResizeMode::kNearest) {
      *at = static_cast<int64_t>(std::clamp(NearestTo(rule.nearest, center), 0.0, last));
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
                      : WeightAt(rule, (static_cast<double>(position) - center) * stretch);
      sum += weight[i];
    }
    for (int64_t i = 0; i < taps && sum != 0; ++i) weight[i] /= sum;
  }
}

}  // namespace onward::kernels
