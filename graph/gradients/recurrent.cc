// The way back through an LSTM with the standard's default activations (Hochreiter and Schmidhuber,
// "Long Short-Term Memory", 1997, with forget gates).
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

struct Gates {
  Expr input, output, forget, candidate;
};

Gates Activated(const Expr& gates) {
  const std::vector<Expr> parts =
      Ops("Split", {gates}, 4, {{"axis", int64_t{1}}, {"num_outputs", int64_t{4}}});
  return {Sigmoid(parts[0]), Sigmoid(parts[1]), Sigmoid(parts[2]), Tanh(parts[3])};
}

Expr NextCell(const Gates& g, const Expr& c) { return g.forget * c + g.input * g.candidate; }

std::vector<Expr> LstmGradient(const FormulaCall& call) {
  const Expr gates = call.input(0), r = call.input(1), dy = call.input(5);
  const bool reversed = call.Int("reversed") != 0;
  const Expr before = call.sink().Scan(
      {call.input(2)}, {gates},
      [](ExprSink&, const std::vector<Expr>& c, const std::vector<Expr>& e) {
        return BodyResult{{}, {NextCell(Activated(e[0]), c[0])}, {Op("Identity", {c[0]})}};
      },
      reversed)[1];
  std::vector<Expr> scanned = {gates, before};
  if (dy.valid()) scanned.push_back(dy);
  const std::vector<Expr> all = call.sink().Scan(
      {call.input(3), call.input(4)}, scanned,
      [&](ExprSink&, const std::vector<Expr>& carried, const std::vector<Expr>& e) {
        const Gates g = Activated(e[0]);
        const Expr c = e[1], squashed = Tanh(NextCell(g, c));
        const Expr dh = e.size() > 2 ? carried[0] + e[2] : carried[0];
        const Expr dc = carried[1] + dh * g.output * (1.0 - squashed * squashed);
        const auto inner = [](const Expr& gate) { return gate * (1.0 - gate); };
        const Expr dgates = expr::Concat(
            {dc * g.candidate * inner(g.input), dh * squashed * inner(g.output),
             dc * c * inner(g.forget), dc * g.input * (1.0 - g.candidate * g.candidate)},
            1);
        return BodyResult{{}, {MatMul(dgates, r), dc * g.forget}, {dgates}};
      },
      !reversed);
  return {all[2], all[0], all[1]};
}

}  // namespace

std::vector<FormulaOp> RecurrentOps() {
  // gates: [steps, batch, 4 hidden], what the activations of input, output, forget gate and
  // candidate take; R: [4 hidden, hidden]; C0: the cells before the first step, dH and dC: the
  // gradients of the states after the last one, [batch, hidden]; dY: that of all states, [steps,
  // batch, hidden]. `reversed`: the recurrence begins with the last step.
  return {
      {"LstmGradient <reversed: int = 0> (gates: T, R: T, C0: T, dH: T, dC: T, dY: T?)"
       " -> (dgates: T, dH0: T, dC0: T) where T = float|double",
       LstmGradient}};
}

}  // namespace onward::gradients
