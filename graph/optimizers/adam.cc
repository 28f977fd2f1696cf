// Adam (Kingma and Ba, 2015) and its kin: AMSGrad, AdamW (decoupled decay), NAdam, RAdam.

#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

struct Moments {
  Expr first, second;
};

// State 0 and 1 are the moments.
Moments NextMoments(const StepCall& s, const Expr& g) {
  const Expr beta1 = s.setting("beta1"), beta2 = s.setting("beta2");
  return {s.Lerp(s.state(0), g, 1.0 - beta1),
          s.state(1) * s.Scalar(beta2) + s.Scalar(1.0 - beta2) * g * g};
}

// 1 - beta^step.
Expr Correction(const StepCall& s, const Expr& beta) { return 1.0 - Pow(beta, s.step()); }

// State: both moments, and for AMSGrad the largest second moment so far.
std::vector<Expr> AdamStep(const FormulaCall& call) {
  const StepCall s(call, AdamStep);
  const Expr rate = s.setting("lr"), epsilon = s.Scalar(s.setting("eps")),
             decay = s.setting("weight_decay");
  const bool decoupled = s.Is("decoupled");
  const Expr g = decoupled ? s.gradient() : s.Decayed(s.gradient(), decay);
  const Expr p = decoupled ? s.Shrunk(rate, decay) : s.parameter();
  const auto [m, v] = NextMoments(s, g);
  std::vector<Expr> next = {{}, m, v};
  if (s.has_state(2)) next.push_back(Max(s.state(2), v));
  const Expr denominator =
      Sqrt(next.back()) / s.Scalar(Sqrt(Correction(s, s.setting("beta2")))) + epsilon;
  next[0] = p - s.Scalar(rate / Correction(s, s.setting("beta1"))) * (m / denominator);
  return next;
}

// Dozat, "Incorporating Nesterov Momentum into Adam", 2016.
// State: both moments, and the product of the momenta so far (a double scalar, 1 at the start).
std::vector<Expr> NAdamStep(const FormulaCall& call) {
  const StepCall s(call, NAdamStep);
  const Expr rate = s.setting("lr"), beta1 = s.setting("beta1"), decay = s.setting("weight_decay");
  const bool decoupled = s.Is("decoupled");
  const Expr g = decoupled ? s.gradient() : s.Decayed(s.gradient(), decay);
  const Expr p = decoupled ? s.Shrunk(rate, decay) : s.parameter();
  const auto momentum_at = [&](const Expr& step) {
    const Expr base = ScalarLike(step, 0.96);
    return beta1 * (1.0 - Pow(base, step * s.setting("momentum_decay")) * 0.5);
  };
  const Expr momentum = momentum_at(s.step()), following = momentum_at(s.step() + 1.0);
  const Expr product = s.state(2) * momentum;
  const auto [m, v] = NextMoments(s, g);
  const Expr denominator =
      Sqrt(v / s.Scalar(Correction(s, s.setting("beta2")))) + s.Scalar(s.setting("eps"));
  const Expr by_gradient = s.Scalar(rate * (1.0 - momentum) / (1.0 - product));
  const Expr by_moment = s.Scalar(rate * following / (1.0 - product * following));
  return {p - by_gradient * (g / denominator) - by_moment * (m / denominator), m, v, product};
}

// Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020.
// State: both moments.
std::vector<Expr> RAdamStep(const FormulaCall& call) {
  const StepCall s(call, RAdamStep);
  const Expr rate = s.setting("lr"), beta2 = s.setting("beta2"), decay = s.setting("weight_decay"),
             step = s.step();
  const bool decoupled = s.Is("decoupled");
  const Expr g = decoupled ? s.gradient() : s.Decayed(s.gradient(), decay);
  const Expr p = decoupled ? s.Shrunk(rate, decay) : s.parameter();
  const auto [m, v] = NextMoments(s, g);
  const Expr correction2 = Correction(s, beta2);
  const Expr longest = 2.0 / (1.0 - beta2) - 1.0;
  const Expr length = longest - 2.0 * step * Pow(beta2, step) / correction2;
  const Expr five = ScalarLike(length, 5);
  const Expr rectified = Greater(length, five);
  const Expr safe = Max(length, five);  // the root's argument stays positive where it is not used
  const Expr rectification =
      Sqrt((safe - 4.0) * (safe - 2.0) * longest / ((longest - 4.0) * (longest - 2.0) * safe));
  const Expr adaptive =
      s.Scalar(Sqrt(correction2) * rectification) / (Sqrt(v) + s.Scalar(s.setting("eps")));
  const Expr corrected = m / s.Scalar(Correction(s, s.setting("beta1")));
  const Expr one = ZerosLike(s.parameter()) + s.Scalar(1.0);
  return {p - s.Scalar(rate) * corrected * Where(rectified, adaptive, one), m, v};
}

std::vector<OptimizerState> AdamStates(const OptimizerOptions& options, const Type& parameter) {
  return {Zeros("moment", parameter), Zeros("second_moment", parameter),
          ZerosFor("amsgrad", "largest", options, parameter)};
}

std::vector<OptimizerState> NAdamStates(const OptimizerOptions& options, const Type& parameter) {
  std::vector<OptimizerState> states = MomentsStates(options, parameter);
  states.push_back({"product", Filled(DType::kFloat64, Dims(), 1)});
  return states;
}

std::vector<OptimizerSetting> NAdamSettings() {
  std::vector<OptimizerSetting> settings = AdamSettings(2e-3, 1e-8, 0);
  settings.push_back(Number("momentum_decay", 4e-3));
  return settings;
}

constexpr FormulaOp kAdamStep = {
    "AdamStep <decoupled: int = 0, maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, moment: T, second_moment: T,"
    " largest: T?)"
    " -> (next_parameter: T, next_moment: T, next_second_moment: T, next_largest: T?)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    AdamStep};

constexpr FormulaOp kNAdamStep = {
    "NAdamStep <decoupled: int = 0, maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, moment: T, second_moment: T,"
    " product: D)"
    " -> (next_parameter: T, next_moment: T, next_second_moment: T, next_product: D)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    NAdamStep};

constexpr FormulaOp kRAdamStep = {
    "RAdamStep <decoupled: int = 0, maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, moment: T, second_moment: T)"
    " -> (next_parameter: T, next_moment: T, next_second_moment: T)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    RAdamStep};

}  // namespace

std::vector<OptimizerEntry> AdamEntries() {
  return {
      {.name = "Adam",
       .op = kAdamStep,
       .settings = AdamSettings(1e-3, 1e-8, 0),
       .switches = {kMaximize, kDecoupled},
       .states = AdamStates,
       .choices = {Choice("amsgrad")}},
      {.name = "AdamW",
       .op = kAdamStep,
       .settings = AdamSettings(1e-3, 1e-8, 1e-2),
       .switches = {kMaximize},
       .states = AdamStates,
       .choices = {Choice("amsgrad")},
       .fixed_switches = {"decoupled"}},
      {.name = "NAdam",
       .op = kNAdamStep,
       .settings = NAdamSettings(),
       .switches = {kMaximize, kDecoupled},
       .states = NAdamStates},
      {.name = "RAdam",
       .op = kRAdamStep,
       .settings = AdamSettings(1e-3, 1e-8, 0),
       .switches = {kMaximize, kDecoupled},
       .states = MomentsStates},
  };
}

}  // namespace onward::optimizers
