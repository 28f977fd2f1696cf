// LSTM whose hidden states are projected ("Long Short-Term Memory Based Recurrent Neural Network
// Architectures", Sak et al. 2014): no operator of the standard, so a Scan over the positions.
#include "onward/functions.h"
#include "onward/nn/linear.h"
#include "onward/nn/recurrent.h"

namespace onward::nn {
namespace {

struct Direction {
  Expr gates;  // [length, batch, 4 hidden]: what comes of x, with both biases
  Expr weight_hh, weight_hr;
  Expr hidden, cell;  // before the first position
  bool reversed = false;
};

// Zeros of [batch, size] where no state is given, else row `index` of it.
Expr StateOf(const Expr& x, const Expr& given, int64_t index, int64_t size) {
  if (given.valid()) return Squeeze(Slice(given, {index}, {index + 1}, {0}), {0});
  const Expr shape = Concat({Shape(x, 1, 2), x.sink()->Ints({size})}, 0);
  return Expand(ScalarLike(x, 0), shape);
}

// The last hidden and cell state and the outputs [length, batch, size].
std::vector<Expr> Run(const Direction& of, const Expr& lengths, int64_t hidden_size) {
  ExprSink& sink = *of.gates.sink();
  std::vector<Expr> scanned = {of.gates};
  if (lengths.valid()) {
    const Expr zero = sink.Scalar(0, DType::kInt64), one = sink.Scalar(1, DType::kInt64);
    scanned.push_back(Op("Range", {zero, Squeeze(Shape(of.gates, 0, 1), {0}), one}));
  }
  const Expr count = lengths.valid() ? Cast(lengths, DType::kInt64) : Expr();
  const Expr turned_hh = Transpose(of.weight_hh), turned_hr = Transpose(of.weight_hr);
  return sink.Scan(
      {of.hidden, of.cell}, scanned,
      [&](ExprSink&, const std::vector<Expr>& carried, const std::vector<Expr>& elements) {
        const std::vector<Expr> gates = Split(elements[0] + MatMul(carried[0], turned_hh),
                                              std::vector<int64_t>(4, hidden_size), 1);
        Expr cell = Sigmoid(gates[1]) * carried[1] + Sigmoid(gates[0]) * Tanh(gates[2]);
        Expr hidden = MatMul(Sigmoid(gates[3]) * Tanh(cell), turned_hr);
        Expr output = hidden;
        if (count.valid()) {
          const Expr inside = Unsqueeze(Less(elements[1], count), {1});
          output = Where(inside, hidden, ScalarLike(hidden, 0));
          hidden = Where(inside, hidden, carried[0]);
          cell = Where(inside, cell, carried[1]);
        }
        return expr::BodyResult{{}, {hidden, cell}, {output}};
      },
      of.reversed);
}

}  // namespace

std::vector<Expr> Recurrent::RunProjected(const Expr& x, size_t layer, const State& state,
                                          const Expr& lengths) {
  const size_t directions = options_.bidirectional ? 2 : 1;
  std::vector<Expr> outputs, hidden, cells;
  for (size_t i = 0; i < directions; ++i) {
    const Weights& weights = weights_[layer * directions + i];
    Direction made;
    made.gates =
        LinearOf(x, weights.weight_ih, options_.bias ? weights.bias_ih + weights.bias_hh : Expr());
    made.weight_hh = weights.weight_hh;
    made.weight_hr = weights.weight_hr;
    made.hidden = StateOf(x, state.hidden, static_cast<int64_t>(i), options_.proj_size);
    made.cell = StateOf(x, state.cell, static_cast<int64_t>(i), hidden_);
    made.reversed = i == 1;
    const std::vector<Expr> results = Run(made, lengths, hidden_);
    if (results.size() != 3) return std::vector<Expr>(3);
    hidden.push_back(Unsqueeze(results[0], {0}));
    cells.push_back(Unsqueeze(results[1], {0}));
    outputs.push_back(Unsqueeze(results[2], {1}));
  }
  const auto joined = [](const std::vector<Expr>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : Concat(parts, axis);
  };
  return {joined(outputs, 1), joined(hidden, 0), joined(cells, 0)};
}

}  // namespace onward::nn
