// The steps of optimizers for one parameter, by family: each is an op of the domain `onward`, whose
// formula of standard ops has the order of PyTorch's single-tensor implementations, so that
// trajectories agree.
//
// Inputs: the parameter, its gradient, `settings` (double[n]: OptimizerEntry::settings), `step`
// (int64: 1 for the first), then state. Outputs: the next parameter and the next state.
#pragma once

#include <limits>
#include <vector>

#include "graph/builder/formula_schema.h"
#include "graph/optimizers/optimizer_entry.h"
#include "onward/formula.h"

namespace onward::optimizers {

using expr::Op;

// The parts that formulas share. Settings and what is computed of them are double scalars;
// arithmetic with a tensor happens in the tensor's dtype.
class StepCall {
 public:
  // `formula`: that of the entry whose settings the call has.
  StepCall(const FormulaCall& call, Formula formula) : call_(call), formula_(formula) {}

  Expr parameter() const { return call_.input(0); }
  // Negated when the step maximizes.
  Expr gradient() const;
  Expr setting(std::string_view name) const;
  Expr step() const { return expr::Cast(call_.input(3), DType::kFloat64); }
  bool has_state(size_t index) const { return call_.has_input(4 + index); }
  Expr state(size_t index) const { return call_.input(4 + index); }
  bool Is(std::string_view attribute) const { return call_.Int(attribute) != 0; }
  int64_t rank() const { return call_.Rank(0); }

  // The double scalar in the parameter's dtype.
  Expr Scalar(const Expr& number) const { return expr::Cast(number, parameter().dtype()); }
  Expr Scalar(double number) const { return expr::ScalarLike(parameter(), number); }
  // a + weight * (b - a).
  Expr Lerp(const Expr& a, const Expr& b, const Expr& weight) const {
    return a + Scalar(weight) * (b - a);
  }
  // The gradient plus weight_decay times the parameter.
  Expr Decayed(const Expr& gradient, const Expr& weight_decay) const {
    return gradient + Scalar(weight_decay) * parameter();
  }
  // The parameter times 1 - rate * weight_decay.
  Expr Shrunk(const Expr& rate, const Expr& weight_decay) const {
    return parameter() * Scalar(1.0 - rate * weight_decay);
  }

 private:
  const FormulaCall& call_;
  Formula formula_;
};

// --- parts of entries

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon() / 2;

constexpr OptimizerSetting Number(std::string_view name, double value) {
  return {name, value, 0, kInfinity};
}
constexpr OptimizerSetting Decay(std::string_view name, double value) {
  return {name, value, 0, kBelowOne};
}
// Returns whether the optimizer keeps another state.
constexpr OptimizerSetting Choice(std::string_view name) { return {name, 0, 0, 1}; }
// lr, both betas, eps and weight_decay.
std::vector<OptimizerSetting> AdamSettings(double lr, double eps, double weight_decay);

constexpr OptimizerSwitch kMaximize = {"maximize", "maximize"};
constexpr OptimizerSwitch kDecoupled = {"decoupled_weight_decay", "decoupled"};

Tensor Filled(DType dtype, DimsView dims, double value);
OptimizerState Zeros(const char* name, const Type& parameter);
// Left out where `option` is 0.
OptimizerState ZerosFor(const char* option, const char* name, const OptimizerOptions& options,
                        const Type& parameter);
// The states of Adam's kin: both moments.
std::vector<OptimizerState> MomentsStates(const OptimizerOptions& options, const Type& parameter);

std::vector<OptimizerEntry> AdafactorEntries();
std::vector<OptimizerEntry> AdamEntries();
std::vector<OptimizerEntry> AdagradEntries();
std::vector<OptimizerEntry> LambEntries();
std::vector<OptimizerEntry> LionEntries();
std::vector<OptimizerEntry> MuonEntries();
std::vector<OptimizerEntry> RMSpropEntries();
std::vector<OptimizerEntry> SgdEntries();

}  // namespace onward::optimizers
