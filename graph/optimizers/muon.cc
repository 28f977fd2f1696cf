// Muon (Jordan et al., 2024): momentum whose matrices are made nearly orthogonal by Newton-Schulz
// iterations. For matrices; other parameters want another optimizer.
#include <algorithm>
#include <cmath>

#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

constexpr int kIterations = 5;
// Coefficients of the quintic a x + b x^3 + c x^5, chosen for a steep slope at zero.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

Expr Orthogonal(const StepCall& s, Expr x, bool tall, const Expr& epsilon) {
  if (tall) x = Transpose(x, {1, 0});
  x = x / Max(Sqrt(ReduceSum(x * x, {}, false)), s.Scalar(epsilon));
  for (int i = 0; i < kIterations; ++i) {
    const Expr gram = MatMul(x, Transpose(x, {1, 0}));
    const Expr mix = gram * kB + MatMul(gram, gram) * kC;
    x = x * kA + MatMul(mix, x);
  }
  return tall ? Transpose(x, {1, 0}) : x;
}

// State: the momentum.
std::vector<Expr> MuonStep(const FormulaCall& call) {
  const StepCall s(call, MuonStep);
  if (s.rank() != 2) {
    call.Fail("Muon takes only matrices");
    return {};
  }
  const Expr rate = s.setting("lr"), momentum = s.setting("momentum"), g = s.gradient();
  const int64_t rows = call.Dim(0, 0), columns = call.Dim(0, 1);
  const Expr buffer = s.Lerp(s.state(0), g, 1.0 - momentum);
  const Expr direction = s.Is("nesterov") ? s.Lerp(g, buffer, momentum) : buffer;
  const Expr change = Orthogonal(s, direction, rows > columns, s.setting("eps"));
  const double shape =
      static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(columns, 1));
  const Expr scaled = rate * std::sqrt(std::max(1.0, shape));
  return {s.Shrunk(rate, s.setting("weight_decay")) - s.Scalar(scaled) * change, buffer};
}

std::vector<OptimizerState> MuonStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("momentum", parameter)};
}

constexpr FormulaOp kMuonStep = {
    "MuonStep <nesterov: int = 1, maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, momentum: T)"
    " -> (next_parameter: T, next_momentum: T)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    MuonStep};

}  // namespace

std::vector<OptimizerEntry> MuonEntries() {
  return {
      {.name = "Muon",
       .op = kMuonStep,
       .settings = {Number("lr", 1e-3), Decay("momentum", 0.95), Number("eps", 1e-7),
                    Number("weight_decay", 0.1)},
       .switches = {kMaximize, {"nesterov", "nesterov", true}},
       .states = MuonStates,
       .matrices_alone = true},
  };
}

}  // namespace onward::optimizers
