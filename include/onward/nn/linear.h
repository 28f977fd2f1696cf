// Linear and Bilinear, Identity, Flatten.
#pragma once

#include "onward/nn/module.h"

namespace onward::nn {

// x W' + b over the last axis, for a weight [out, in] and perhaps a bias [out]. Of any rank; the
// leading axes are rows of one product.
Expr LinearOf(const Expr& x, const Expr& weight, const Expr& bias = {});

class Linear : public Layer {
 public:
  struct Options {
    bool bias = true;
  };
  Linear(Module& parent, std::string_view name, int64_t in, int64_t out);
  Linear(Module& parent, std::string_view name, int64_t in, int64_t out, const Options& options);
  Expr Forward(const Expr& x) override { return LinearOf(x, weight, bias); }

  Expr weight, bias;
};

// y_k = a' W_k b + bias_k over the last axes.
class Bilinear : public Module {
 public:
  Bilinear(Module& parent, std::string_view name, int64_t in1, int64_t in2, int64_t out,
           bool with_bias = true);
  Expr operator()(const Expr& a, const Expr& b);

  Expr weight, bias;
};

// Axes [start, end] become one.
struct Flatten {
  int64_t start = 1, end = -1;
  Expr operator()(const Expr& x) const;
};

struct Unflatten {
  int64_t axis = 1;
  std::vector<int64_t> sizes;
  Expr operator()(const Expr& x) const;
};

struct Identity {
  Expr operator()(const Expr& x) const { return x; }
};

}  // namespace onward::nn
