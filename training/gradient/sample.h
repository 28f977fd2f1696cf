// Reading images at fractional positions, written in differentiable ops: what GridSample and
// DeformConv do.
#pragma once

#include <vector>

#include "onward/gradient.h"

namespace onward::gradient {

// The contribution of an axis to each sample: an element's position (int64, inside the image) and
// its weight; both [batch, samples].
struct SampleTap {
  Expr position, weight;
};

// Linear interpolation between the two neighbours of `at` [batch, samples], zero outside of
// 0..size - 1. `size` is an int64 scalar.
std::vector<SampleTap> LinearTaps(const Expr& at, const Expr& size);

// The tap at whole position `at` (a float), with weight 0 outside of the image.
SampleTap TapInside(const Expr& at, const Expr& weight, const Expr& size);

// [batch, channels, samples]: sums over the products of the axes' taps of an image
// [batch, channels, elements]. An omitted weight is one. `sizes` are int64 scalars by axis.
Expr SumOfTaps(const Expr& image, const std::vector<std::vector<SampleTap>>& axes,
               const std::vector<Expr>& sizes);

}  // namespace onward::gradient
