// Pooling by a ratio that is not a whole number (Graham, "Fractional Max-Pooling", 2014).
#pragma once

#include <vector>

#include "onward/nn/conv.h"

namespace onward::nn {

// Maxima of windows that overlap and begin at random distances, drawn anew in each run, for each
// channel of each example. Of [batch, channels, height, width] or with a depth before; sizes are
// known.
struct FractionalMaxPool {
  Sizes kernel;
  std::vector<int64_t> size = {};  // of the result, or
  std::vector<double> ratio = {};  // of it to the input's; one, or one an axis
  // `samples`: numbers in [0, 1) in place of drawn ones, [batch, channels, axes]; in PyTorch's
  // order: of two axes the width's first.
  Expr operator()(const Expr& x, const Expr& samples = {}) const;
};
using FractionalMaxPool2d = FractionalMaxPool;
using FractionalMaxPool3d = FractionalMaxPool;

}  // namespace onward::nn
