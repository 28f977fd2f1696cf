// Parts that losses share. Included by training/losses alone.
#pragma once

#include "onward/functions.h"
#include "training/losses/loss.h"

namespace onward::loss {

inline Expr Reduced(const Expr& elements, Reduction reduction) {
  if (reduction == Reduction::kNone) return elements;
  return reduction == Reduction::kSum ? expr::ReduceSum(elements, {}, false)
                                      : expr::ReduceMean(elements, {}, false);
}

// max(x, low).
inline Expr AtLeast(const Expr& x, double low) {
  return expr::Clip(x, expr::ScalarLike(x, low), Expr());
}

// log(1 + exp(x)) without overflow.
inline Expr Softplus(const Expr& x) { return expr::Op("Softplus", {x}); }

}  // namespace onward::loss
