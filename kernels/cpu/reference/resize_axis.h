// One axis of Resize: where each output position reads, and with which weights.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace onward::kernels::cpu {

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

// Input elements that one output position of the axis reads.
int64_t ResizeTaps(const ResizeRule& rule, double scale);

// Fills, for each of axis.out positions, `taps` positions of the input in [0, axis.in) and their
// weights, which sum to one. A position outside the region of kTfCropAndResize gets -1 as its first
// tap. The standard: Resize, coordinate_transformation_mode and the figures of its reference.
void FillResizeTaps(const ResizeRule& rule, const ResizeAxis& axis, int64_t taps,
                    absl::Span<int64_t> positions, absl::Span<double> weights);

}  // namespace onward::kernels::cpu
