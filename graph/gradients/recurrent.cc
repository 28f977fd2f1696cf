// An LSTM with the standard's default activations (Hochreiter and Schmidhuber, "Long Short-Term
// Memory", 1997, with forget gates) that keeps its gates, and the way back through it.
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

Expr InFloat32(const Expr& x) {
  return x.dtype() == DType::kFloat32 ? x : Cast(x, DType::kFloat32);
}

// The gates of one direction before their activations: [steps, batch, 4 hidden]. `y`: all states,
// [steps, directions, batch, hidden].
Expr GatesOf(const FormulaCall& call, const Expr& y, int64_t direction, bool reversed) {
  const auto own = [&](const Expr& value, int64_t axis) {
    return InFloat32(Gather(value, call.sink().Scalar(direction, DType::kInt64), axis));
  };
  const Expr x = InFloat32(call.input(0)), w = own(call.input(1), 0), r = own(call.input(2), 0);
  const Expr states = own(y, 1);
  Expr first = call.has_input(5)
                   ? own(call.input(5), 0)
                   : Expand(ScalarLike(x, 0), expr::Concat({Shape(x, 1, 2), Shape(r, 1, 2)}, 0));
  first = Unsqueeze(first, {0});
  const Expr before = reversed ? expr::Concat({Slice(states, {1}, {INT64_MAX}, {0}), first}, 0)
                               : expr::Concat({first, Slice(states, {0}, {-1}, {0})}, 0);
  Expr gates = MatMul(x, Transpose(w, {1, 0}));
  if (call.has_input(3)) {
    const std::vector<Expr> biases = Ops("Split", {own(call.input(3), 0)}, 2,
                                         {{"axis", int64_t{0}}, {"num_outputs", int64_t{2}}});
    gates = gates + (biases[0] + biases[1]);
  }
  return gates + MatMul(before, Transpose(r, {1, 0}));
}

std::vector<Expr> LstmWithGates(const FormulaCall& call) {
  std::vector<Expr> inputs, gates;
  for (size_t i = 0; i < 7; ++i) inputs.push_back(call.input(i));
  if (call.has_input(4)) call.Fail("sequence_lens must be omitted");
  std::vector<Expr> outputs = call.sink().Ops("LSTM", inputs, 3, call.attributes());
  const std::string direction = call.String("direction");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  for (int64_t d = 0; d < directions; ++d)
    gates.push_back(Unsqueeze(GatesOf(call, outputs[0], d, d == 1 || direction == "reverse"), {0}));
  outputs.push_back(directions == 1 ? gates[0] : expr::Concat(gates, 0));
  return outputs;
}

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
  // LstmWithGates: LSTM without sequence_lens, and its gates before their activations: [directions,
  // steps, batch, 4 hidden], in the order of W's rows.
  return {{"LstmWithGates <direction: string = \"forward\", hidden_size: int?>"
           " (X: T, W: T, R: T, B: T?, sequence_lens: I?, initial_h: T?, initial_c: T?)"
           " -> (Y: T?, Y_h: T?, Y_c: T?, gates: G) where T = float|float16|bfloat16, I = int32,"
           " G = float",
           LstmWithGates},
          {"LstmGradient <reversed: int = 0> (gates: T, R: T, C0: T, dH: T, dC: T, dY: T?)"
           " -> (dgates: T, dH0: T, dC0: T) where T = float|double",
           LstmGradient}};
}

}  // namespace onward::gradients
