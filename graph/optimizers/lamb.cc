// LAMB (You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes",
// 2020), algorithm 2 with bias correction.
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

Expr Norm(const Expr& x) { return Sqrt(ReduceSum(x * x, {}, false)); }

// State: both moments.
std::vector<Expr> LambStep(const FormulaCall& call) {
  const StepCall s(call, LambStep);
  const Expr beta1 = s.setting("beta1"), beta2 = s.setting("beta2"), g = s.gradient(),
             p = s.parameter();
  const Expr m = s.Lerp(s.state(0), g, 1.0 - beta1);
  const Expr v = s.state(1) * s.Scalar(beta2) + s.Scalar(1.0 - beta2) * g * g;
  const Expr corrected = m / s.Scalar(1.0 - Pow(beta1, s.step()));
  const Expr root = Sqrt(v / s.Scalar(1.0 - Pow(beta2, s.step())));
  const Expr change =
      s.Decayed(corrected / (root + s.Scalar(s.setting("eps"))), s.setting("weight_decay"));
  const Expr size = Norm(p), change_size = Norm(change), zero = s.Scalar(0.0);
  const Expr both = And(Greater(size, zero), Greater(change_size, zero));
  const Expr trust = Where(both, size / change_size, s.Scalar(1.0));
  return {p - s.Scalar(s.setting("lr")) * trust * change, m, v};
}

constexpr FormulaOp kLambStep = {
    "LambStep <maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, moment: T, second_moment: T)"
    " -> (next_parameter: T, next_moment: T, next_second_moment: T)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    LambStep};

}  // namespace

std::vector<OptimizerEntry> LambEntries() {
  return {
      {.name = "LAMB",
       .op = kLambStep,
       .settings = AdamSettings(1e-3, 1e-6, 0),
       .switches = {kMaximize},
       .states = MomentsStates},
  };
}

}  // namespace onward::optimizers
