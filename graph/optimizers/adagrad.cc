// Adagrad (Duchi et al., 2011) and Adadelta (Zeiler, 2012).
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

// State: the sum of squares.
std::vector<Expr> AdagradStep(const FormulaCall& call) {
  const StepCall s(call, AdagradStep);
  const Expr rate = s.setting("lr") / (1.0 + (s.step() - 1.0) * s.setting("lr_decay"));
  const Expr g = s.Decayed(s.gradient(), s.setting("weight_decay"));
  const Expr sum = s.state(0) + g * g;
  return {s.parameter() - s.Scalar(rate) * (g / (Sqrt(sum) + s.Scalar(s.setting("eps")))), sum};
}

// State: the running means of squared gradients and of squared changes.
std::vector<Expr> AdadeltaStep(const FormulaCall& call) {
  const StepCall s(call, AdadeltaStep);
  const Expr rho = s.setting("rho"), epsilon = s.Scalar(s.setting("eps"));
  const Expr g = s.Decayed(s.gradient(), s.setting("weight_decay"));
  const auto running = [&](const Expr& mean, const Expr& x) {
    return mean * s.Scalar(rho) + s.Scalar(1.0 - rho) * x * x;
  };
  const Expr squares = running(s.state(0), g);
  const Expr change = Sqrt(s.state(1) + epsilon) / Sqrt(squares + epsilon) * g;
  return {s.parameter() - s.Scalar(s.setting("lr")) * change, squares, running(s.state(1), change)};
}

std::vector<OptimizerState> AdadeltaStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("squares", parameter), Zeros("changes", parameter)};
}

std::vector<OptimizerState> AdagradStates(const OptimizerOptions& options, const Type& parameter) {
  return {{"sum", Filled(parameter.dtype, *parameter.static_dims(),
                         options.at("initial_accumulator_value"))}};
}

constexpr FormulaOp kAdadeltaStep = {
    "AdadeltaStep <maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, squares: T, changes: T)"
    " -> (next_parameter: T, next_squares: T, next_changes: T)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    AdadeltaStep};

constexpr FormulaOp kAdagradStep = {
    "AdagradStep <maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, sum: T)"
    " -> (next_parameter: T, next_sum: T)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    AdagradStep};

}  // namespace

std::vector<OptimizerEntry> AdagradEntries() {
  return {
      {.name = "Adadelta",
       .op = kAdadeltaStep,
       .settings =
           {Number("lr", 1), {"rho", 0.9, 0, 1}, Number("eps", 1e-6), Number("weight_decay", 0)},
       .switches = {kMaximize},
       .states = AdadeltaStates},
      {.name = "Adagrad",
       .op = kAdagradStep,
       .settings = {Number("lr", 1e-2), Number("lr_decay", 0), Number("eps", 1e-10),
                    Number("weight_decay", 0)},
       .switches = {kMaximize},
       .states = AdagradStates,
       .choices = {Number("initial_accumulator_value", 0)}},
  };
}

}  // namespace onward::optimizers
