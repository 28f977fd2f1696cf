// Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023).
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

// State: the moment.
std::vector<Expr> LionStep(const FormulaCall& call) {
  const StepCall s(call, LionStep);
  const Expr rate = s.setting("lr"), g = s.gradient();
  const Expr direction = Sign(s.Lerp(s.state(0), g, 1.0 - s.setting("beta1")));
  return {s.Shrunk(rate, s.setting("weight_decay")) - s.Scalar(rate) * direction,
          s.Lerp(s.state(0), g, 1.0 - s.setting("beta2"))};
}

std::vector<OptimizerState> LionStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("moment", parameter)};
}

constexpr FormulaOp kLionStep = {
    "LionStep <maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, moment: T)"
    " -> (next_parameter: T, next_moment: T)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    LionStep};

}  // namespace

std::vector<OptimizerEntry> LionEntries() {
  return {
      {.name = "Lion",
       .op = kLionStep,
       .settings = {Number("lr", 1e-4), Decay("beta1", 0.9), Decay("beta2", 0.99),
                    Number("weight_decay", 0)},
       .switches = {kMaximize},
       .states = LionStates},
  };
}

}  // namespace onward::optimizers
