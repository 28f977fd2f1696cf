// Pooling and resampling of [batch, channels, size...] as function objects.
#pragma once

#include <optional>
#include <string>

#include "graph/builder/nn/conv.h"

namespace onward::nn {

struct MaxPool {
  Sizes kernel;
  std::optional<Sizes> stride = std::nullopt;  // the kernel
  Sizes padding = 0, dilation = 1;
  bool ceil_mode = false;
  Expr operator()(const Expr& x) const;
};

struct AvgPool {
  Sizes kernel;
  std::optional<Sizes> stride = std::nullopt;
  Sizes padding = 0;
  bool ceil_mode = false, count_include_pad = true;
  Expr operator()(const Expr& x) const;
};

struct LPPool {
  int64_t norm;
  Sizes kernel;
  std::optional<Sizes> stride = std::nullopt;
  bool ceil_mode = false;
  Expr operator()(const Expr& x) const;
};

// Sizes of the output. Sizes of the input must be known unless the output's are 1.
struct AdaptiveAvgPool {
  Sizes size;
  Expr operator()(const Expr& x) const;
};
// The output's sizes divide the input's.
struct AdaptiveMaxPool {
  Sizes size;
  Expr operator()(const Expr& x) const;
};

// To `size`, or by the factors `scale`. Modes: "nearest", "linear" (of any rank; PyTorch's
// bilinear and trilinear too), "cubic".
struct Upsample {
  std::vector<int64_t> size = {};
  std::vector<double> scale = {};  // one, or one an axis
  std::string mode = "nearest";
  bool align_corners = false;
  Expr operator()(const Expr& x) const;
};

// [batch, channels * factor^2, height, width] -> [batch, channels, height * factor, ...].
struct PixelShuffle {
  int64_t factor;
  Expr operator()(const Expr& x) const;
};

}  // namespace onward::nn
