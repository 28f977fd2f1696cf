// Padding of [batch, channels, size...], as function objects with PyTorch's names and order.
#pragma once

#include "onward/nn/conv.h"

namespace onward::nn {

// `padding`: one number for both sides of every axis behind the channels, or pairs (before, after)
// of axes, the last axis first: {left, right, top, bottom}. Negative ones crop.
struct ConstantPad {
  std::vector<int64_t> padding;
  double value = 0;
  Expr operator()(const Expr& x) const;
};
struct ZeroPad {
  std::vector<int64_t> padding;
  Expr operator()(const Expr& x) const;
};
struct ReflectionPad {
  std::vector<int64_t> padding;
  Expr operator()(const Expr& x) const;
};
struct ReplicationPad {
  std::vector<int64_t> padding;
  Expr operator()(const Expr& x) const;
};
struct CircularPad {
  std::vector<int64_t> padding;
  Expr operator()(const Expr& x) const;
};

}  // namespace onward::nn
