// LSTM, GRU and RNN: the gradient of the recurrence written as a Scan of standard ops, which
// computes the states again. The products of X with W are outside of it.
#include "kernels/shapes/recurrent.h"

#include <cmath>
#include <utility>

#include "graph/base/status.h"
#include "graph/builder/functions.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

enum Input { kX, kW, kR, kB, kLens, kInitialH, kInitialC, kPeepholes };

Expr Apply(const RecurrentActivation& f, const Expr& x) {
  const double alpha = f.alpha, beta = f.beta;
  switch (f.kind) {
    case GateFunction::kRelu:
      return Relu(x);
    case GateFunction::kTanh:
      return Tanh(x);
    case GateFunction::kSigmoid:
      return Sigmoid(x);
    case GateFunction::kAffine:
      return x * alpha + beta;
    case GateFunction::kLeakyRelu:
      return Op("LeakyRelu", {x}, {{"alpha", f.alpha}});
    case GateFunction::kThresholdedRelu:
      return Where(GreaterOrEqual(x, ScalarLike(x, alpha)), x, ScalarLike(x, 0));
    case GateFunction::kScaledTanh:
      return Tanh(x * beta) * alpha;
    case GateFunction::kHardSigmoid:
      return Op("HardSigmoid", {x}, {{"alpha", f.alpha}, {"beta", f.beta}});
    case GateFunction::kElu:
      return Op("Elu", {x}, {{"alpha", f.alpha}});
    case GateFunction::kSoftsign:
      return Op("Softsign", {x});
    case GateFunction::kSoftplus:
      return Op("Softplus", {x});
  }
  return x;
}

// One direction of a node.
class Direction {
 public:
  Direction(const RecurrentAttributes& attributes, const std::vector<Expr>& inputs, int direction)
      : a_(attributes), inputs_(inputs), direction_(direction) {
    x_ = a_.batch_first ? Transpose(inputs[kX], {1, 0, 2}) : inputs[kX];
    r_ = Transpose(Own(kR, 0), {1, 0});
    if (Has(kPeepholes)) peepholes_ = Parts(Own(kPeepholes, 0), 0, 3);
    if (!Has(kB)) return;
    const std::vector<Expr> biases = Parts(Own(kB, 0), 0, 2);
    input_bias_ = biases[0];
    recurrent_bias_ = biases[1];
  }

  // Y of [steps, batch, hidden], then the last states of [batch, hidden].
  std::vector<Expr> Write() {
    const Expr projected = Projected();
    std::vector<Expr> states = {Initial(kInitialH)}, scanned = {projected};
    if (a_.op == RecurrentOp::kLstm) states.push_back(Initial(kInitialC));
    if (Has(kLens)) scanned.push_back(Iota(Shape(x_, 0, 1)));
    std::vector<Expr> results = x_.sink()->Scan(
        states, scanned,
        [&](ExprSink&, const std::vector<Expr>& carried, const std::vector<Expr>& elements) {
          return Step(carried, elements);
        },
        a_.reversed(direction_));
    results.insert(results.begin(), results.back());
    results.pop_back();
    return results;
  }

 private:
  bool Has(Input i) const { return i < inputs_.size() && inputs_[i].valid(); }
  // The direction's part of an input.
  Expr Own(Input i, int64_t axis) const {
    return Gather(inputs_[i], inputs_[i].sink()->Scalar(direction_, DType::kInt64), axis);
  }
  static std::vector<Expr> Parts(const Expr& x, int64_t axis, int count) {
    return Ops("Split", {x}, count, {{"axis", axis}, {"num_outputs", int64_t{count}}});
  }

  Expr Initial(Input i) const {
    if (Has(i)) return Own(i, a_.batch_first ? 1 : 0);
    return Expand(ScalarLike(x_, 0), expr::Concat({Shape(x_, 1, 2), Shape(r_, 0, 1)}, 0));
  }

  // X W^T and the biases that are added before the recurrent product.
  Expr Projected() {
    Expr sum = MatMul(x_, Transpose(Own(kW, 0), {1, 0}));
    if (!input_bias_.valid()) return sum;
    sum = sum + input_bias_;
    if (a_.op != RecurrentOp::kGru || !a_.linear_before_reset) return sum + recurrent_bias_;
    const std::vector<Expr> parts = Parts(recurrent_bias_, 0, 3);
    late_bias_ = parts[2];
    return sum + expr::Concat({parts[0], parts[1], parts[2] * 0.0}, 0);
  }

  Expr Activate(int function, const Expr& x) const {
    const Expr limit = std::isinf(a_.clip) ? Expr() : ScalarLike(x, a_.clip);
    const auto index = static_cast<size_t>(direction_ * a_.functions() + function);
    return Apply(a_.activations[index], limit.valid() ? Clip(x, -limit, limit) : x);
  }

  BodyResult Step(const std::vector<Expr>& carried, const std::vector<Expr>& elements) const {
    const std::vector<Expr> next = a_.op == RecurrentOp::kLstm  ? Lstm(carried, elements[0])
                                   : a_.op == RecurrentOp::kGru ? Gru(carried[0], elements[0])
                                                                : Rnn(carried[0], elements[0]);
    if (elements.size() == 1) return {{}, next, {next[0]}};
    // A sequence that has ended, or not begun from its end, keeps its states and gives zeros.
    const Expr lens = Cast(inputs_[kLens], DType::kInt64);
    const Expr goes_on = Unsqueeze(Less(elements[1], lens), {1});
    std::vector<Expr> kept;
    for (size_t i = 0; i < next.size(); ++i) kept.push_back(Where(goes_on, next[i], carried[i]));
    return {{}, kept, {Masked(goes_on, next[0])}};
  }

  std::vector<Expr> Rnn(const Expr& h, const Expr& x) const {
    return {Activate(0, x + MatMul(h, r_))};
  }

  std::vector<Expr> Lstm(const std::vector<Expr>& carried, const Expr& x) const {
    const std::vector<Expr> gates = Parts(x + MatMul(carried[0], r_), 1, 4);  // i, o, f, c
    const auto gate = [&](size_t k, const Expr& c) {
      return Activate(0, peepholes_.empty() ? gates[k] : gates[k] + peepholes_[k] * c);
    };
    const Expr in = gate(0, carried[1]);
    const Expr forget = a_.input_forget ? 1.0 - in : gate(2, carried[1]);
    const Expr c = forget * carried[1] + in * Activate(1, gates[3]);
    return {gate(1, c) * Activate(2, c), c};
  }

  std::vector<Expr> Gru(const Expr& h, const Expr& x) const {
    const std::vector<Expr> own = Parts(x, 1, 3);  // update, reset, candidate
    const std::vector<Expr> r = Parts(r_, 1, 3);
    const Expr update = Activate(0, own[0] + MatMul(h, r[0]));
    const Expr reset = Activate(0, own[1] + MatMul(h, r[1]));
    Expr candidate;
    if (a_.linear_before_reset) {
      const Expr product = MatMul(h, r[2]);
      candidate = reset * (late_bias_.valid() ? product + late_bias_ : product);
    } else {
      candidate = MatMul(reset * h, r[2]);
    }
    return {(1.0 - update) * Activate(1, own[2] + candidate) + update * h};
  }

  const RecurrentAttributes& a_;
  const std::vector<Expr>& inputs_;
  const int direction_;
  Expr x_, r_;  // [steps, batch, input], [hidden, gates * hidden]
  Expr input_bias_, recurrent_bias_, late_bias_;
  std::vector<Expr> peepholes_;
};

// The directions beside each other, in the node's layout.
Expr Joined(const std::vector<Expr>& parts, bool batch_first) {
  const bool is_y = parts[0].type().shape && parts[0].type().shape->size() == 3;
  std::vector<Expr> own;
  int64_t axis = is_y ? 1 : 0;
  if (batch_first) ++axis;
  for (const Expr& part : parts) {
    own.push_back(Unsqueeze(is_y && batch_first ? Transpose(part, {1, 0, 2}) : part, {axis}));
  }
  return own.size() == 1 ? own[0] : expr::Concat(own, axis);
}

template <RecurrentOp kOp>
Gradients RecurrentRule(const GradientScope& s) {
  const KernelOptions options;
  ONWARD_ASSIGN_OR_RETURN(
      const RecurrentAttributes attributes,
      RecurrentAttributes::Parse(NodeSpec(s.sink().graph(), s.id(), options), kOp));
  const DType dtype = s.input(kX).dtype();
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return GradientsOf(s, [&](const std::vector<Expr>& given) {
    std::vector<Expr> inputs = given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (narrow && i != kLens && inputs[i].valid()) inputs[i] = Cast(inputs[i], DType::kFloat32);
    }
    std::vector<std::vector<Expr>> by_output;
    for (int d = 0; d < attributes.directions; ++d) {
      const std::vector<Expr> results = Direction(attributes, inputs, d).Write();
      by_output.resize(results.size());
      for (size_t i = 0; i < results.size(); ++i) by_output[i].push_back(results[i]);
    }
    std::vector<Expr> outputs;
    for (const std::vector<Expr>& parts : by_output) {
      const Expr joined = Joined(parts, attributes.batch_first);
      outputs.push_back(narrow ? Cast(joined, dtype) : joined);
    }
    return outputs;
  });
}

constexpr GradientEntry kRules[] = {{"GRU", RecurrentRule<RecurrentOp::kGru>},
                                    {"LSTM", RecurrentRule<RecurrentOp::kLstm>},
                                    {"RNN", RecurrentRule<RecurrentOp::kRnn>}};

}  // namespace

GradientList RecurrentGradients() { return kRules; }

}  // namespace onward::gradient
