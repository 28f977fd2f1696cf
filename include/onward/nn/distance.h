// Likeness and distance of vectors, as function objects.
#pragma once

#include "onward/nn/module.h"

namespace onward::nn {

// a b / (|a| |b|) over an axis; lengths are at least epsilon.
struct CosineSimilarity {
  int64_t axis = 1;
  double eps = 1e-8;
  Expr operator()(const Expr& a, const Expr& b) const;
};

// |a - b + epsilon| over the last axis, by the norm `norm` >= 1; infinity: the greatest.
struct PairwiseDistance {
  double norm = 2, eps = 1e-6;
  bool keep_axis = false;
  Expr operator()(const Expr& a, const Expr& b) const;
};

}  // namespace onward::nn
