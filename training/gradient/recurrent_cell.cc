#include "training/gradient/recurrent_cell.h"

#include <cmath>

#include "onward/functions.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: formulas

Expr Apply(const kernels::RecurrentActivation& f, const Expr& x) {
  const double alpha = f.alpha, beta = f.beta;
  switch (f.kind) {
    case kernels::GateFunction::kRelu:
      return Relu(x);
    case kernels::GateFunction::kTanh:
      return Tanh(x);
    case kernels::GateFunction::kSigmoid:
      return Sigmoid(x);
    case kernels::GateFunction::kAffine:
      return x * alpha + beta;
    case kernels::GateFunction::kLeakyRelu:
      return Op("LeakyRelu", {x}, {{"alpha", f.alpha}});
    case kernels::GateFunction::kThresholdedRelu:
      return Where(GreaterOrEqual(x, ScalarLike(x, alpha)), x, ScalarLike(x, 0));
    case kernels::GateFunction::kScaledTanh:
      return Tanh(x * beta) * alpha;
    case kernels::GateFunction::kHardSigmoid:
      return Op("HardSigmoid", {x}, {{"alpha", f.alpha}, {"beta", f.beta}});
    case kernels::GateFunction::kElu:
      return Op("Elu", {x}, {{"alpha", f.alpha}});
    case kernels::GateFunction::kSoftsign:
      return Op("Softsign", {x});
    case kernels::GateFunction::kSoftplus:
      return Op("Softplus", {x});
  }
  return x;
}

}  // namespace

std::vector<Expr> Parts(const Expr& x, int64_t axis, int count) {
  return Ops("Split", {x}, count, {{"axis", axis}, {"num_outputs", int64_t{count}}});
}

RecurrentDirection::RecurrentDirection(const kernels::RecurrentAttributes& attributes,
                                       const std::vector<Expr>& inputs, int direction)
    : a_(attributes), inputs_(inputs), direction_(direction) {
  x_ = a_.batch_first ? Transpose(inputs[kX], {1, 0, 2}) : inputs[kX];
  w_ = Own(inputs[kW], 0);
  r_rows_ = Own(inputs[kR], 0);
  r_ = Transpose(r_rows_, {1, 0});
  if (Has(kPeepholes)) peepholes_ = Own(inputs[kPeepholes], 0);
  if (!Has(kB)) return;
  const std::vector<Expr> biases = Parts(Own(inputs[kB], 0), 0, 2);
  if (a_.op != kernels::RecurrentOp::kGru || !a_.linear_before_reset) {
    input_bias_ = biases[0] + biases[1];
    return;
  }
  const std::vector<Expr> recurrent = Parts(biases[1], 0, 3);
  const Expr zeros = ZerosLike(recurrent[2]);
  input_bias_ = biases[0] + expr::Concat({recurrent[0], recurrent[1], zeros}, 0);
  late_bias_ = expr::Concat({zeros, zeros, recurrent[2]}, 0);
}

bool RecurrentDirection::is_plain_lstm() const {
  constexpr kernels::GateFunction kDefaults[] = {
      kernels::GateFunction::kSigmoid, kernels::GateFunction::kTanh, kernels::GateFunction::kTanh};
  for (int i = 0; i < a_.functions() && is_lstm(); ++i) {
    if (a_.activations[static_cast<size_t>(direction_ * 3 + i)].kind != kDefaults[i]) return false;
  }
  return is_lstm() && std::isinf(a_.clip) && !a_.input_forget && !Has(kLens) && !Has(kPeepholes);
}

Expr RecurrentDirection::Own(const Expr& value, int64_t axis) const {
  return Gather(value, value.sink()->Scalar(direction_, DType::kInt64), axis);
}

Expr RecurrentDirection::Initial(RecurrentInput i) const {
  if (Has(i)) return Own(inputs_[i], a_.batch_first ? 1 : 0);
  return Expand(ScalarLike(x_, 0), expr::Concat({Shape(x_, 1, 2), Shape(r_, 0, 1)}, 0));
}

Expr RecurrentDirection::Projected() const {
  const Expr product = MatMul(x_, Transpose(w_, {1, 0}));
  return input_bias_.valid() ? product + input_bias_ : product;
}

Expr RecurrentDirection::Activate(int function, const Expr& x) const {
  const Expr limit = std::isinf(a_.clip) ? Expr() : ScalarLike(x, a_.clip);
  const auto index = static_cast<size_t>(direction_ * a_.functions() + function);
  return Apply(a_.activations[index], limit.valid() ? Clip(x, -limit, limit) : x);
}

std::vector<Expr> RecurrentDirection::Cell(const Expr& x, const Expr& product,
                                           const std::vector<Expr>& states,
                                           const Expr& peepholes) const {
  if (a_.op == kernels::RecurrentOp::kRnn) return {Activate(0, x + product)};
  if (a_.op == kernels::RecurrentOp::kGru) {
    const std::vector<Expr> own = Parts(x, 1, 3), r = Parts(product, 1, 3);
    const Expr update = Activate(0, own[0] + r[0]), reset = Activate(0, own[1] + r[1]);
    return {(1.0 - update) * Activate(1, own[2] + reset * r[2]) + update * states[0]};
  }
  const std::vector<Expr> gates = Parts(x + product, 1, 4);  // input, output, forget, candidate
  const std::vector<Expr> weights =
      peepholes.valid() ? Parts(peepholes, 0, 3) : std::vector<Expr>();
  const auto gate = [&](size_t k, const Expr& c) {
    return Activate(0, weights.empty() ? gates[k] : gates[k] + weights[k] * c);
  };
  const Expr in = gate(0, states[1]);
  const Expr forget = a_.input_forget ? 1.0 - in : gate(2, states[1]);
  const Expr c = forget * states[1] + in * Activate(1, gates[3]);
  return {gate(1, c) * Activate(2, c), c};
}

Expr RecurrentDirection::GruStep(const Expr& x, const Expr& h) const {
  const std::vector<Expr> own = Parts(x, 1, 3), r = Parts(r_, 1, 3);
  const Expr update = Activate(0, own[0] + MatMul(h, r[0]));
  const Expr reset = Activate(0, own[1] + MatMul(h, r[1]));
  return (1.0 - update) * Activate(1, own[2] + MatMul(reset * h, r[2])) + update * h;
}

Expr RecurrentDirection::GoesOn(const Expr& time) const {
  return Unsqueeze(Less(time, Cast(inputs_[kLens], DType::kInt64)), {1});
}

Expr RecurrentDirection::Times() const { return Iota(Shape(x_, 0, 1)); }

}  // namespace onward::gradient
