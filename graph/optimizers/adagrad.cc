// Adagrad (Duchi et al., 2011) and Adadelta (Zeiler, 2012).
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

// Settings: rate, rate_decay, epsilon, weight_decay. State: the sum of squares.
std::vector<Expr> AdagradStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rate = s.setting(0) / (1.0 + (s.step() - 1.0) * s.setting(1));
  const Expr g = s.Decayed(s.gradient(), s.setting(3));
  const Expr sum = s.state(0) + g * g;
  return {s.parameter() - s.Scalar(rate) * (g / (Sqrt(sum) + s.Scalar(s.setting(2)))), sum};
}

// Settings: rate, rho, epsilon, weight_decay. State: the running means of squared gradients and of
// squared changes.
std::vector<Expr> AdadeltaStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rho = s.setting(1), epsilon = s.Scalar(s.setting(2));
  const Expr g = s.Decayed(s.gradient(), s.setting(3));
  const auto running = [&](const Expr& mean, const Expr& x) {
    return mean * s.Scalar(rho) + s.Scalar(1.0 - rho) * x * x;
  };
  const Expr squares = running(s.state(0), g);
  const Expr change = Sqrt(s.state(1) + epsilon) / Sqrt(squares + epsilon) * g;
  return {s.parameter() - s.Scalar(s.setting(0)) * change, squares, running(s.state(1), change)};
}

}  // namespace

std::vector<FormulaOp> AdagradOps() {
  return {
      {"AdagradStep <maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, sum: T)"
       " -> (next_parameter: T, next_sum: T)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       AdagradStep},
      {"AdadeltaStep <maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, squares: T, changes: T)"
       " -> (next_parameter: T, next_squares: T, next_changes: T)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       AdadeltaStep},
  };
}

}  // namespace onward::optimizers
