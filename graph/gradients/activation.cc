// Gradients that pass or do not: those of Relu and of Clip between numbers, at whose bounds nothing
// passes (PyTorch's hardtanh). S: Y may be kept in fewer bits.
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

std::vector<Expr> ReluGradient(const FormulaCall& call) {
  const Expr dy = call.input(1), y = Saved(call.input(0), dy);
  return {Where(Greater(y, ScalarLike(y, 0)), dy, ScalarLike(dy, 0))};
}

std::vector<Expr> ClipGradient(const FormulaCall& call) {
  const Expr dy = call.input(1), low = call.input(2), high = call.input(3);
  const Expr y = Saved(call.input(0), dy);
  Expr passes;
  if (low.valid()) passes = Greater(y, low);
  if (high.valid()) {
    const Expr below = Less(y, high);
    passes = passes.valid() ? And(passes, below) : below;
  }
  return {passes.valid() ? Where(passes, dy, ScalarLike(dy, 0)) : Identity(dy)};
}

}  // namespace

std::vector<FormulaOp> ActivationOps() {
  return {{"ReluGradient (Y: S, dY: T) -> (dX: T)"
           " where S = float|double|float16|bfloat16, T = float|double|float16|bfloat16",
           ReluGradient},
          {"ClipGradient (Y: S, dY: T, min: T?, max: T?) -> (dX: T)"
           " where S = float|double|float16|bfloat16, T = float|double|float16|bfloat16",
           ClipGradient}};
}

}  // namespace onward::gradients
