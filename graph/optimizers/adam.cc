// Adam (Kingma and Ba, 2015) and its kin: AMSGrad, AdamW (decoupled decay), NAdam, RAdam.

#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

struct Moments {
  Expr first, second;
};

// Settings 1 and 2 are the moments' decay rates, state 0 and 1 the moments.
Moments NextMoments(const StepCall& s, const Expr& g) {
  const Expr beta1 = s.setting(1), beta2 = s.setting(2);
  return {s.Lerp(s.state(0), g, 1.0 - beta1),
          s.state(1) * s.Scalar(beta2) + s.Scalar(1.0 - beta2) * g * g};
}

// 1 - beta^step.
Expr Correction(const StepCall& s, const Expr& beta) { return 1.0 - Pow(beta, s.step()); }

// Settings: rate, beta1, beta2, epsilon, weight_decay. State: both moments, and for AMSGrad the
// largest second moment so far.
std::vector<Expr> AdamStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rate = s.setting(0), epsilon = s.Scalar(s.setting(3)), decay = s.setting(4);
  const bool decoupled = s.Is("decoupled");
  const Expr g = decoupled ? s.gradient() : s.Decayed(s.gradient(), decay);
  const Expr p = decoupled ? s.Shrunk(rate, decay) : s.parameter();
  const auto [m, v] = NextMoments(s, g);
  std::vector<Expr> next = {{}, m, v};
  if (s.has_state(2)) next.push_back(Max(s.state(2), v));
  const Expr denominator =
      Sqrt(next.back()) / s.Scalar(Sqrt(Correction(s, s.setting(2)))) + epsilon;
  next[0] = p - s.Scalar(rate / Correction(s, s.setting(1))) * (m / denominator);
  return next;
}

// Dozat, "Incorporating Nesterov Momentum into Adam", 2016.
// Settings: rate, beta1, beta2, epsilon, weight_decay, momentum_decay. State: both moments, and the
// product of the momenta so far (a double scalar, 1 at the start).
std::vector<Expr> NAdamStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rate = s.setting(0), beta1 = s.setting(1), decay = s.setting(4);
  const bool decoupled = s.Is("decoupled");
  const Expr g = decoupled ? s.gradient() : s.Decayed(s.gradient(), decay);
  const Expr p = decoupled ? s.Shrunk(rate, decay) : s.parameter();
  const auto momentum_at = [&](const Expr& step) {
    const Expr base = ScalarLike(step, 0.96);
    return beta1 * (1.0 - Pow(base, step * s.setting(5)) * 0.5);
  };
  const Expr momentum = momentum_at(s.step()), following = momentum_at(s.step() + 1.0);
  const Expr product = s.state(2) * momentum;
  const auto [m, v] = NextMoments(s, g);
  const Expr denominator = Sqrt(v / s.Scalar(Correction(s, s.setting(2)))) + s.Scalar(s.setting(3));
  const Expr by_gradient = s.Scalar(rate * (1.0 - momentum) / (1.0 - product));
  const Expr by_moment = s.Scalar(rate * following / (1.0 - product * following));
  return {p - by_gradient * (g / denominator) - by_moment * (m / denominator), m, v, product};
}

// Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020.
// Settings: rate, beta1, beta2, epsilon, weight_decay. State: both moments.
std::vector<Expr> RAdamStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rate = s.setting(0), beta2 = s.setting(2), decay = s.setting(4), step = s.step();
  const bool decoupled = s.Is("decoupled");
  const Expr g = decoupled ? s.gradient() : s.Decayed(s.gradient(), decay);
  const Expr p = decoupled ? s.Shrunk(rate, decay) : s.parameter();
  const auto [m, v] = NextMoments(s, g);
  const Expr correction2 = Correction(s, beta2);
  const Expr longest = 2.0 / (1.0 - beta2) - 1.0;
  const Expr length = longest - 2.0 * step * Pow(beta2, step) / correction2;
  const Expr five = ScalarLike(length, 5);
  const Expr rectified = Greater(length, five);
  const Expr safe = Max(length, five);  // the root's argument stays positive where it is not used
  const Expr rectification =
      Sqrt((safe - 4.0) * (safe - 2.0) * longest / ((longest - 4.0) * (longest - 2.0) * safe));
  const Expr adaptive =
      s.Scalar(Sqrt(correction2) * rectification) / (Sqrt(v) + s.Scalar(s.setting(3)));
  const Expr corrected = m / s.Scalar(Correction(s, s.setting(1)));
  const Expr one = ZerosLike(s.parameter()) + s.Scalar(1.0);
  return {p - s.Scalar(rate) * corrected * Where(rectified, adaptive, one), m, v};
}

}  // namespace

std::vector<FormulaOp> AdamOps() {
  return {
      {"AdamStep <decoupled: int = 0, maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, moment: T, second_moment: T,"
       " largest: T?)"
       " -> (next_parameter: T, next_moment: T, next_second_moment: T, next_largest: T?)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       AdamStep},
      {"NAdamStep <decoupled: int = 0, maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, moment: T, second_moment: T,"
       " product: D)"
       " -> (next_parameter: T, next_moment: T, next_second_moment: T, next_product: D)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       NAdamStep},
      {"RAdamStep <decoupled: int = 0, maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, moment: T, second_moment: T)"
       " -> (next_parameter: T, next_moment: T, next_second_moment: T)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       RAdamStep},
  };
}

}  // namespace onward::optimizers
