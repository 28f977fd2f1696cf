// Dropout, as nodes that do nothing until training/prepare/mode.h makes them train.
#pragma once

#include "onward/nn/module.h"

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
using Dropout1d = Dropout2d;
using Dropout3d = Dropout2d;

// Sets dropped elements to SELU's least value and moves the rest so that mean and variance stay.
struct AlphaDropout {
  double p = 0.5;
  Expr operator()(const Expr& x) const;
};

// The same of whole channels.
struct FeatureAlphaDropout {
  double p = 0.5;
  Expr operator()(const Expr& x) const;
};

// A bool scalar: whether the model trains. A dropout of the number 1 tells, which is never 1 then.
Expr IsTraining(ExprSink& sink);

}  // namespace onward::nn
