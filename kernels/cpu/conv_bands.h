// Output rows of a convolution that meet the same rows of taps. With wide dilations most taps of
// most rows meet nothing but padding.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "graph/base/conv_taps.h"
#include "kernels/bind/window.h"

namespace onward::kernels::cpu {

struct ConvBand {
  int64_t begin = 0, end = 0;  // output rows, or outputs of another axis
};

// The outputs of an axis, cut where taps begin or cease to meet the input.
absl::InlinedVector<ConvBand, 5> CutWhereTapsChange(const WindowAxis& axis);

// The rows of `axes` (two of them) cut where taps begin or cease to meet the input; one band where
// that would save less than a quarter of the products. `lanes`: pixels that are computed together.
absl::InlinedVector<ConvBand, 5> CutIntoBands(const WindowAxes& axes, int64_t lanes);

// Narrows a band's rows: the axis whose outputs are those of the band.
WindowAxis RowsOfBand(const WindowAxis& rows, const ConvBand& band);

// Along one to three axes: the taps that are kept, of how many.
struct KeptTaps {
  TapRange range;
  int64_t of = 1;
};
using TapRanges = absl::InlinedVector<KeptTaps, 3>;

// Narrows kernels and padding to the taps that meet the input; empty where all do.
TapRanges NarrowToLiveTaps(WindowAxes& axes);

}  // namespace onward::kernels::cpu
