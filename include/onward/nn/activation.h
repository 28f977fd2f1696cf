// Activations as function objects, with PyTorch's names, formulas and defaults.
#pragma once

#include <string_view>

#include "onward/nn/module.h"

namespace onward::nn {

struct ReLU {
  Expr operator()(const Expr& x) const;
};
struct ReLU6 {
  Expr operator()(const Expr& x) const;
};
struct LeakyReLU {
  double slope = 0.01;
  Expr operator()(const Expr& x) const;
};
// Slopes of negative values are drawn from [lower, upper) when training; else their mean.
struct RReLU {
  double lower = 1.0 / 8, upper = 1.0 / 3;
  Expr operator()(const Expr& x) const;
};
struct ELU {
  double alpha = 1;
  Expr operator()(const Expr& x) const;
};
struct SELU {
  Expr operator()(const Expr& x) const;
};
struct CELU {
  double alpha = 1;
  Expr operator()(const Expr& x) const;
};
struct GELU {
  bool tanh = false;  // the approximation
  Expr operator()(const Expr& x) const;
};
struct SiLU {
  Expr operator()(const Expr& x) const;
};
struct Mish {
  Expr operator()(const Expr& x) const;
};
struct Sigmoid {
  Expr operator()(const Expr& x) const;
};
struct LogSigmoid {
  Expr operator()(const Expr& x) const;
};
struct Tanh {
  Expr operator()(const Expr& x) const;
};
struct Tanhshrink {
  Expr operator()(const Expr& x) const;
};
struct Hardtanh {
  double low = -1, high = 1;
  Expr operator()(const Expr& x) const;
};
struct Hardsigmoid {
  Expr operator()(const Expr& x) const;
};
struct Hardswish {
  Expr operator()(const Expr& x) const;
};
struct Hardshrink {
  double lambda = 0.5;
  Expr operator()(const Expr& x) const;
};
struct Softshrink {
  double lambda = 0.5;
  Expr operator()(const Expr& x) const;
};
// log(1 + exp(beta x)) / beta, and x where beta x is above the threshold.
struct Softplus {
  double beta = 1, threshold = 20;
  Expr operator()(const Expr& x) const;
};
struct Softsign {
  Expr operator()(const Expr& x) const;
};
// x above the threshold, else `value`.
struct Threshold {
  double threshold = 0, value = 0;
  Expr operator()(const Expr& x) const;
};
struct Softmax {
  int64_t axis = -1;
  Expr operator()(const Expr& x) const;
};
// Over the channels of [batch, channels, height, width].
struct Softmax2d : Softmax {
  Softmax2d() : Softmax{1} {}
};
struct Softmin {
  int64_t axis = -1;
  Expr operator()(const Expr& x) const;
};
struct LogSoftmax {
  int64_t axis = -1;
  Expr operator()(const Expr& x) const;
};
// The first half along the axis times the sigmoid of the second.
struct GLU {
  int64_t axis = -1;
  Expr operator()(const Expr& x) const;
};

// A learned slope for negative values: one, or one a channel (axis 1).
class PReLU : public Layer {
 public:
  PReLU(Module& parent, std::string_view name, int64_t count = 1, double slope = 0.25);
  Expr Forward(const Expr& x) override;

  Expr weight;
};

// "relu", "gelu", "gelu_tanh", "silu", "tanh", ...: those without arguments, by name; null for
// another name.
Function ActivationByName(std::string_view name);

}  // namespace onward::nn
