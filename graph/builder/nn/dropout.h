// Dropout, as nodes that do nothing until training/mode.h makes them train.
#pragma once

#include "graph/builder/nn/module.h"

namespace onward::nn {

// Elements, each with probability `p` in [0, 1).
struct Dropout {
  double p = 0.5;
  Expr operator()(const Expr& x) const;
};

// Whole channels (axis 1) of [batch, channels, ...].
struct Dropout2d {
  double p = 0.5;
  Expr operator()(const Expr& x) const;
};

}  // namespace onward::nn
