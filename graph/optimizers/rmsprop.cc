// RMSprop (Hinton, lecture 6e, 2012; centered: Graves, 2013).
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

// State: the running mean of squares, then optional the momentum and the running mean that centers.
std::vector<Expr> RMSpropStep(const FormulaCall& call) {
  const StepCall s(call, RMSpropStep);
  const Expr rate = s.Scalar(s.setting("lr")), alpha = s.setting("alpha");
  const Expr g = s.Decayed(s.gradient(), s.setting("weight_decay"));
  const Expr squares = s.state(0) * s.Scalar(alpha) + s.Scalar(1.0 - alpha) * g * g;
  std::vector<Expr> next = {{}, squares, {}, {}};
  Expr variance = squares;
  if (s.has_state(2)) {
    next[3] = s.Lerp(s.state(2), g, 1.0 - alpha);
    variance = squares - next[3] * next[3];
  }
  Expr change = g / (Sqrt(variance) + s.Scalar(s.setting("eps")));
  if (s.has_state(1)) change = next[2] = s.state(1) * s.Scalar(s.setting("momentum")) + change;
  next[0] = s.parameter() - rate * change;
  return next;
}

std::vector<OptimizerState> RMSpropStates(const OptimizerOptions& options, const Type& parameter) {
  return {Zeros("squares", parameter), ZerosFor("momentum", "momentum", options, parameter),
          ZerosFor("centered", "mean", options, parameter)};
}

constexpr FormulaOp kRMSpropStep = {
    "RMSpropStep <maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, squares: T, momentum: T?, mean: T?)"
    " -> (next_parameter: T, next_squares: T, next_momentum: T?, next_mean: T?)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    RMSpropStep};

}  // namespace

std::vector<OptimizerEntry> RMSpropEntries() {
  return {
      {.name = "RMSprop",
       .op = kRMSpropStep,
       .settings = {Number("lr", 1e-2), Decay("alpha", 0.99), Number("eps", 1e-8),
                    Number("weight_decay", 0), Number("momentum", 0)},
       .switches = {kMaximize},
       .states = RMSpropStates,
       .choices = {Choice("centered")}},
  };
}

}  // namespace onward::optimizers
