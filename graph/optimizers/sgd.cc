// Stochastic gradient descent with momentum (Sutskever et al., "On the importance of initialization
// and momentum in deep learning", 2013), as PyTorch words it.
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

// Settings: rate, momentum, dampening, weight_decay. State: the momentum, or none.
std::vector<Expr> SgdStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rate = s.setting(0), momentum = s.setting(1), dampening = s.setting(2);
  Expr g = s.Decayed(s.gradient(), s.setting(3));
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

}  // namespace

std::vector<FormulaOp> SgdOps() {
  return {
      {"SgdStep <nesterov: int = 0, maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, momentum: T?)"
       " -> (next_parameter: T, next_momentum: T?)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       SgdStep},
  };
}

}  // namespace onward::optimizers
