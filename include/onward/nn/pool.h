// Pooling and resampling of [batch, channels, size...] as function objects.
#pragma once

#include <optional>
#include <string>

#include "onward/nn/conv.h"

namespace onward::nn {

struct MaxPool {
  Sizes kernel;
  std::optional<Sizes> stride = std::nullopt;  // the kernel
  Sizes padding = 0, dilation = 1;
  bool ceil_mode = false;
  Expr operator()(const Expr& x) const;
  // Also where the maxima are: positions in the flat input, int64.
  struct Found {
    Expr values, indices;
  };
  Found WithIndices(const Expr& x) const;
};

// Values at the places that a MaxPool of the same window found, zeros elsewhere. `size`: of the
// result's axes behind the channels, where the window leaves it open.
struct MaxUnpool {
  Sizes kernel;
  std::optional<Sizes> stride = std::nullopt;
  Sizes padding = 0;
  std::vector<int64_t> size = {};
  Expr operator()(const Expr& x, const Expr& indices) const;
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
using UpsamplingNearest2d = Upsample;
// Corners are kept.
struct UpsamplingBilinear2d : Upsample {
  explicit UpsamplingBilinear2d(std::vector<int64_t> to, std::vector<double> by = {})
      : Upsample{std::move(to), std::move(by), "linear", true} {}
};

// [batch, channels * factor^2, height, width] -> [batch, channels, height * factor, ...].
struct PixelShuffle {
  int64_t factor;
  Expr operator()(const Expr& x) const;
};

}  // namespace onward::nn
