// Which taps of a convolution's kernel can matter: wide dilations on small maps have many that meet
// nothing but padding.
#pragma once

#include <cstdint>
#include <optional>

namespace onward {

// One spatial axis: sizes of input, output and kernel, and how the kernel moves.
struct ConvAxis {
  int64_t input = 0, output = 0, kernel = 0, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};

struct TapRange {
  int64_t begin = 0, end = 0;
};

// The taps that meet the input at some output position, whatever the input holds. Nothing where the
// others cannot be left out: no tap is left, or the padding without them would be negative.
std::optional<TapRange> LiveTaps(const ConvAxis& axis);

// The axis with the kernel of those taps alone; output sizes stay.
ConvAxis Narrowed(const ConvAxis& axis, TapRange taps);

}  // namespace onward
