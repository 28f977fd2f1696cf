// Channels to places and back, and windows as columns, as function objects.
#pragma once

#include "onward/nn/conv.h"

namespace onward::nn {

// [batch, channels, height * factor, width * factor] -> [batch, channels * factor^2, height,
// width].
struct PixelUnshuffle {
  int64_t factor;
  Expr operator()(const Expr& x) const;
};

// Channels (axis 1, of a known number) of each of the groups by turns.
struct ChannelShuffle {
  int64_t groups;
  Expr operator()(const Expr& x) const;
};

// The windows of [batch, channels, height, width] as columns: [batch, channels * kernel, windows].
// The number of channels must be known.
struct Unfold {
  Sizes kernel;
  Sizes dilation = 1, padding = 0, stride = 1;
  Expr operator()(const Expr& x) const;
};

// The sum of columns where their windows lie: [batch, channels, height, width] of `size`.
struct Fold {
  std::vector<int64_t> size;
  Sizes kernel;
  Sizes dilation = 1, padding = 0, stride = 1;
  Expr operator()(const Expr& x) const;
};

}  // namespace onward::nn
