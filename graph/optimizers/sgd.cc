// Stochastic gradient descent with momentum (Sutskever et al., "On the importance of initialization
// and momentum in deep learning", 2013), as PyTorch words it.
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

// State: the momentum, or none.
std::vector<Expr> SgdStep(const FormulaCall& call) {
  const StepCall s(call, SgdStep);
  const Expr rate = s.setting("lr"), momentum = s.setting("momentum"),
             dampening = s.setting("dampening");
  Expr g = s.Decayed(s.gradient(), s.setting("weight_decay"));
  std::vector<Expr> next(1);
  if (s.has_state(0)) {
    const Expr later = s.state(0) * s.Scalar(momentum) + s.Scalar(1.0 - dampening) * g;
    const Expr buffer = Where(Equal(s.step(), ScalarLike(s.step(), 1)), g, later);
    next.push_back(buffer);
    g = s.Is("nesterov") ? g + s.Scalar(momentum) * buffer : buffer;
  }
  next[0] = s.parameter() - s.Scalar(rate) * g;
  return next;
}

std::vector<OptimizerState> SgdStates(const OptimizerOptions& options, const Type& parameter) {
  return {ZerosFor("momentum", "momentum", options, parameter)};
}

constexpr FormulaOp kSgdStep = {
    "SgdStep <nesterov: int = 0, maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, momentum: T?)"
    " -> (next_parameter: T, next_momentum: T?)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    SgdStep};

}  // namespace

std::vector<OptimizerEntry> SgdEntries() {
  return {
      {.name = "SGD",
       .op = kSgdStep,
       .settings = {Number("lr", 1e-3), Number("momentum", 0), Number("dampening", 0),
                    Number("weight_decay", 0)},
       .switches = {kMaximize, {"nesterov", "nesterov"}},
       .states = SgdStates},
  };
}

}  // namespace onward::optimizers
