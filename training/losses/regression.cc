// Losses of differences and of distributions.
#include <cmath>

#include "training/losses/operands.h"
#include "training/losses/reduction.h"

namespace onward::loss {
namespace {

constexpr double kPi = 3.14159265358979323846;

// As PyTorch takes it: of x's shape, with a last axis of 1, or without the last axis.
Expr VarianceOf(const Expr& x, const Expr& given) {
  if (!x.valid() || !given.valid()) return {};
  const auto &shape = given.type().shape, &of = x.type().shape;
  const bool lacks_axis = shape && of && shape->size() + 1 == of->size();
  const Expr variance = lacks_axis ? Unsqueeze(given, {-1}) : given;
  return WeightOf("gaussian", x, variance, "the variance");
}

}  // namespace

Expr MeanSquaredError(const Expr& x, const Expr& target, Reduction reduction) {
  const Expr difference = x - SameShape("mse", x, target);
  return Reduced(difference * difference, reduction);
}

Expr L1(const Expr& x, const Expr& target, Reduction reduction) {
  return Reduced(Abs(x - SameShape("l1", x, target)), reduction);
}

Expr Huber(const Expr& x, const Expr& target, double delta, Reduction reduction) {
  const Expr size = Abs(x - SameShape("huber", x, target));
  const Expr loss = Where(LessOrEqual(size, ScalarLike(size, delta)), size * size * 0.5,
                          (size - delta / 2) * delta);
  return Reduced(loss, reduction);
}

Expr SmoothL1(const Expr& x, const Expr& target, double beta, Reduction reduction) {
  if (beta == 0) return L1(x, target, reduction);
  const Expr size = Abs(x - SameShape("smooth_l1", x, target));
  const Expr loss =
      Where(Less(size, ScalarLike(size, beta)), size * size * (0.5 / beta), size - beta / 2);
  return Reduced(loss, reduction);
}

Expr KullbackLeibler(const Expr& x, const Expr& given, bool log_target, bool per_batch,
                     Reduction reduction) {
  const Expr target = SameShape("kl", x, given);
  Expr loss;
  if (log_target) {
    loss = Exp(target) * (target - x);
  } else {
    // 0 * log(0) is 0.
    const Expr zero = ScalarLike(target, 0);
    const Expr positive = Greater(target, zero);
    const Expr safe = Where(positive, target, ScalarLike(target, 1));
    loss = Where(positive, target * Log(safe), zero) - target * x;
  }
  if (!per_batch) return Reduced(loss, reduction);
  return ReduceSum(loss, {}, false) / Squeeze(Cast(Shape(x, 0, 1), x.dtype()), {0});
}

Expr PoissonNegativeLogLikelihood(const Expr& x, const Expr& given, bool log_input, double epsilon,
                                  Reduction reduction, bool full) {
  const Expr target = SameShape("poisson", x, given);
  Expr loss = log_input ? Exp(x) - target * x : x - target * Log(x + epsilon);
  if (full) {
    const Expr one = ScalarLike(target, 1);
    const Expr counts = Max(target, one);
    const Expr stirling = target * Log(counts) - target + Log(counts * (2 * kPi)) * 0.5;
    loss = loss + Where(Greater(target, one), stirling, ScalarLike(target, 0));
  }
  return Reduced(loss, reduction);
}

Expr GaussianNegativeLogLikelihood(const Expr& x, const Expr& target, const Expr& given,
                                   double epsilon, Reduction reduction, bool full) {
  const Expr variance = VarianceOf(x, given);
  // The bound changes the value, and the gradient goes past it.
  const Expr excess = AtLeast(variance, epsilon) - variance;
  const Expr bounded = variance + expr::Op("StopGradient", {excess}, {}, "onward");
  const Expr difference = x - SameShape("gaussian", x, target);
  const Expr loss = (Log(bounded) + difference * difference / bounded) * 0.5;
  return Reduced(full ? loss + 0.5 * std::log(2 * kPi) : loss, reduction);
}

}  // namespace onward::loss
