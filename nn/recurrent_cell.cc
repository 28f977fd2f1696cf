#include "onward/nn/recurrent_cell.h"

#include <cmath>

#include "onward/functions.h"
#include "onward/nn/linear.h"

namespace onward::nn {

RecurrentCell::RecurrentCell(Module& parent, std::string_view name, int64_t gates, int64_t in,
                             int64_t hidden, bool bias)
    : Module(parent, name), hidden_(hidden) {
  if (!Require(hidden >= 1, "needs a hidden size of at least 1")) return;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const Init start = init::Uniform(-bound, bound);
  weight_ih = AddParameter("weight_ih", {gates * hidden, in}, start);
  weight_hh = AddParameter("weight_hh", {gates * hidden, hidden}, start);
  if (!bias) return;
  bias_ih = AddParameter("bias_ih", {gates * hidden}, start);
  bias_hh = AddParameter("bias_hh", {gates * hidden}, start);
}

Expr RecurrentCell::StateOf(const Expr& x, const Expr& given) const {
  if (given.valid()) return given;
  const Expr shape = Concat({Shape(x, 0, 1), x.sink()->Ints({hidden_})}, 0);
  return Expand(ScalarLike(x, 0), shape);
}

LSTMCell::LSTMCell(Module& parent, std::string_view name, int64_t in, int64_t hidden, bool bias)
    : RecurrentCell(parent, name, 4, in, hidden, bias) {}

LSTMCell::State LSTMCell::operator()(const Expr& x, const State& state) {
  const Scope scope(*this);
  if (!x.valid() || !Made()) return {};
  const Expr h = StateOf(x, state.hidden), c = StateOf(x, state.cell);
  const std::vector<Expr> gates =
      Split(LinearOf(x, weight_ih, bias_ih) + LinearOf(h, weight_hh, bias_hh),
            std::vector<int64_t>(4, hidden_), 1);
  const Expr cell = Sigmoid(gates[1]) * c + Sigmoid(gates[0]) * Tanh(gates[2]);
  return {Sigmoid(gates[3]) * Tanh(cell), cell};
}

GRUCell::GRUCell(Module& parent, std::string_view name, int64_t in, int64_t hidden, bool bias)
    : RecurrentCell(parent, name, 3, in, hidden, bias) {}

Expr GRUCell::operator()(const Expr& x, const Expr& hidden) {
  const Scope scope(*this);
  if (!x.valid() || !Made()) return {};
  const Expr h = StateOf(x, hidden);
  const std::vector<int64_t> thirds(3, hidden_);
  const std::vector<Expr> of_x = Split(LinearOf(x, weight_ih, bias_ih), thirds, 1);
  const std::vector<Expr> of_h = Split(LinearOf(h, weight_hh, bias_hh), thirds, 1);
  const Expr reset = Sigmoid(of_x[0] + of_h[0]), update = Sigmoid(of_x[1] + of_h[1]);
  const Expr fresh = Tanh(of_x[2] + reset * of_h[2]);
  return (1.0 - update) * fresh + update * h;
}

RNNCell::RNNCell(Module& parent, std::string_view name, int64_t in, int64_t hidden, bool bias,
                 bool relu)
    : RecurrentCell(parent, name, 1, in, hidden, bias), relu_(relu) {}

Expr RNNCell::operator()(const Expr& x, const Expr& hidden) {
  const Scope scope(*this);
  if (!x.valid() || !Made()) return {};
  const Expr sum =
      LinearOf(x, weight_ih, bias_ih) + LinearOf(StateOf(x, hidden), weight_hh, bias_hh);
  return relu_ ? Relu(sum) : Tanh(sum);
}

}  // namespace onward::nn
