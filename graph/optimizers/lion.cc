// Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023).
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

// Settings: rate, beta1, beta2, weight_decay. State: the moment.
std::vector<Expr> LionStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rate = s.setting(0), g = s.gradient();
  const Expr direction = Sign(s.Lerp(s.state(0), g, 1.0 - s.setting(1)));
  return {s.Shrunk(rate, s.setting(3)) - s.Scalar(rate) * direction,
          s.Lerp(s.state(0), g, 1.0 - s.setting(2))};
}

}  // namespace

std::vector<FormulaOp> LionOps() {
  return {
      {"LionStep <maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, moment: T)"
       " -> (next_parameter: T, next_moment: T)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       LionStep},
  };
}

}  // namespace onward::optimizers
