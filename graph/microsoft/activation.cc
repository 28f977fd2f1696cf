// Activations, with and without a bias.
#include "absl/strings/str_cat.h"
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

// Rounded to the dtype after each of its products, as its description asks.
std::vector<Expr> ScaledSiLU(const FormulaCall& call) {
  const Expr x = call.input(0);
  const DType wide = DType::kFloat32;
  const Expr scale =
      call.has_input(1) ? Cast(call.input(1), wide) : call.sink().Scalar(call.Float("alpha"), wide);
  const Expr z = Cast(Cast(x, wide) * scale, x.dtype());
  return {z * Sigmoid(z)};
}

// Activations of FusedConv and its kin that are an op with up to three attributes.
struct NamedActivation {
  std::string_view op;
  std::vector<std::string> parameters;
};
const std::vector<NamedActivation>& NamedActivations() {
  static const auto* rows = new std::vector<NamedActivation>{
      {"Celu", {"alpha"}},
      {"Elu", {"alpha"}},
      {"Gelu", {}},
      {"HardSigmoid", {"alpha", "beta"}},
      {"HardSwish", {}},
      {"LeakyRelu", {"alpha"}},
      {"Relu", {}},
      {"Selu", {"alpha", "gamma"}},
      {"Sigmoid", {}},
      {"Softplus", {}},
      {"Softsign", {}},
      {"Tanh", {}},
      {"ThresholdedRelu", {"alpha"}},
  };
  return *rows;
}

}  // namespace

Expr Activated(const FormulaCall& call, const Expr& x, const std::string& op,
               const Attributes& parameters) {
  if (op.empty()) return x;
  const double alpha = parameters.Float("alpha", 0), beta = parameters.Float("beta", 0);
  if (op == "Clip") return Clip(x, ScalarLike(x, alpha), ScalarLike(x, beta));
  if (op == "ScaledTanh") return Tanh(x * beta) * alpha;
  if (op == "ParametricSoftplus") return Op("Softplus", {x * beta}) * alpha;
  for (const NamedActivation& row : NamedActivations()) {
    if (row.op != op) continue;
    Attributes attributes;
    for (const std::string& name : row.parameters) {
      if (parameters.Has(name)) attributes.Set(name, *parameters.Find(name));
    }
    return Op(op, {x}, std::move(attributes));
  }
  call.Fail(absl::StrCat("the activation '", op, "' is not known"));
  return {};
}

std::vector<FormulaOp> ActivationOps() {
  return {
      {"Gelu (X: T) -> (Y: T) where T = float16|float|double|bfloat16", Gelu},
      {"FastGelu (X: T, bias: T?) -> (Y: T) where T = float16|float|bfloat16", FastGelu},
      {"BiasGelu (A: T, B: T) -> (C: T) where T = float16|float|double|bfloat16", BiasGelu},
      {"QuickGelu <alpha: float = 1.702> (X: T) -> (Y: T) where T = float16|float|double|bfloat16",
       QuickGelu},
      {"ScaledSiLU <alpha: float = 1> (X: T, scale: M?) -> (Y: T)"
       " where T = float|float16|bfloat16, M = float|float16|bfloat16",
       ScaledSiLU},
  };
}

}  // namespace onward::microsoft
