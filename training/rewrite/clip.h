// Bounds on gradients, as nodes of the step (torch.nn.utils.clip_grad_norm_ and clip_grad_value_).
#pragma once

#include <limits>
#include <vector>

#include "onward/expr.h"

namespace onward::training {

struct ClippedGradients {
  std::vector<Expr> gradients;
  Expr norm;  // before clipping, a scalar of the first gradient's dtype
};

// Scales all gradients by one factor, so that the norm of all of them together is at most
// `most`. `power`: 2 for the Euclidean norm, infinity for the largest element. NaN and infinity in
// any gradient reach all.
ClippedGradients ClipByGlobalNorm(const std::vector<Expr>& gradients, double most,
                                  double power = 2);

// The same of each gradient by itself.
std::vector<Expr> ClipEachByNorm(const std::vector<Expr>& gradients, double most, double power = 2);

// Elements into [-most, most].
std::vector<Expr> ClipByValue(const std::vector<Expr>& gradients, double most);

}  // namespace onward::training
