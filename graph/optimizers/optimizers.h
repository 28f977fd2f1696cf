// The ops that take an optimizer's step for one parameter, by family: each a signature and a
// formula of standard ops, in the order of PyTorch's single-tensor implementations, so that
// trajectories agree. Of the domain `onward`.
//
// Inputs: the parameter, its gradient, `settings` (double[n]: numbers that a schedule may change
// from step to step, in the order of the op's comment), `step` (int64: 1 for the first), then
// state. Outputs: the next parameter and the next state.
#pragma once

#include <vector>

#include "graph/builder/formula.h"

namespace onward::optimizers {

using expr::Op;

// What the formulas share. Settings and what is computed of them are double scalars; arithmetic
// with a tensor happens in the tensor's dtype.
class StepCall {
 public:
  explicit StepCall(const FormulaCall& call) : call_(call) {}

  Expr parameter() const { return call_.input(0); }
  // Negated when the step maximizes.
  Expr gradient() const;
  Expr setting(int64_t index) const;
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
};

std::vector<FormulaOp> AdafactorOps();
std::vector<FormulaOp> AdamOps();
std::vector<FormulaOp> AdagradOps();
std::vector<FormulaOp> LambOps();
std::vector<FormulaOp> LionOps();
std::vector<FormulaOp> MuonOps();
std::vector<FormulaOp> RMSpropOps();
std::vector<FormulaOp> SgdOps();

}  // namespace onward::optimizers
