// Activations, with and without a bias.
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

std::vector<Expr> Gelu(const FormulaCall& call) { return {expr::Gelu(call.input(0))}; }

std::vector<Expr> FastGelu(const FormulaCall& call) {
  const Expr x = call.has_input(1) ? call.input(0) + call.input(1) : call.input(0);
  return {expr::Gelu(x, "tanh")};
}

std::vector<Expr> BiasGelu(const FormulaCall& call) {
  return {expr::Gelu(call.input(0) + call.input(1))};
}

// x * sigmoid(alpha * x).
std::vector<Expr> QuickGelu(const FormulaCall& call) {
  return {Op("Swish", {call.input(0)}, {{"alpha", call.Float("alpha")}})};
}

}  // namespace

std::vector<FormulaOp> ActivationOps() {
  return {
      {"Gelu (X: T) -> (Y: T) where T = float16|float|double|bfloat16", Gelu},
      {"FastGelu (X: T, bias: T?) -> (Y: T) where T = float16|float|bfloat16", FastGelu},
      {"BiasGelu (A: T, B: T) -> (C: T) where T = float16|float|double|bfloat16", BiasGelu},
      {"QuickGelu <alpha: float = 1.702> (X: T) -> (Y: T) where T = float16|float|double|bfloat16",
       QuickGelu},
  };
}

}  // namespace onward::microsoft
