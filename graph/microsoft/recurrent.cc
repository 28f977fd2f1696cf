// DynamicQuantizeLSTM: an LSTM of quantized weights, whose input and states are quantized as they
// come, one range for a whole batch.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

enum Input : size_t {
  kX,
  kW,
  kR,
  kB,
  kLengths,
  kInitialH,
  kInitialC,
  kP,
  kWScale,
  kWZero,
  kRScale,
  kRZero
};

constexpr std::string_view kActivations[] = {"Relu",     "Sigmoid",  "Tanh",
                                             "Softplus", "Softsign", "HardSigmoid"};

// The inputs of one direction; P may be omitted, and the lengths.
struct Direction {
  Expr w, w_scale, w_zero, r, r_scale, r_zero;  // weights [inputs, 4 * hidden]
  Expr b, p, h, c;                              // b [4 * hidden]
  Expr lengths;                                 // int64[batch]
  std::vector<std::string> activations;         // f, g, h
  std::optional<double> clip;
  bool input_forget = false, reversed = false;
};

// x times quantized weights, x quantized to uint8 by its range.
Expr Product(const Expr& x, const Expr& w, const Expr& scale, const Expr& zero) {
  const std::vector<Expr> q = Ops("DynamicQuantizeLinear", {x}, 3);
  const Expr sums = Op("MatMulInteger", {q[0], w, q[2], zero});
  return Cast(sums, DType::kFloat32) * (q[1] * scale);
}

Expr Clipped(const Expr& x, const Direction& d) {
  return d.clip ? Clip(x, ScalarLike(x, -*d.clip), ScalarLike(x, *d.clip)) : x;
}

// The next states from the gates i, o, f, c before their activations, without the states' part.
std::pair<Expr, Expr> Step(const Direction& d, const Expr& input, const Expr& h, const Expr& c,
                           int64_t hidden) {
  const std::vector<int64_t> quarters(4, hidden), thirds(3, hidden);
  const std::vector<Expr> gates = Split(input + Product(h, d.r, d.r_scale, d.r_zero), quarters, -1);
  const std::vector<Expr> p = d.p.valid() ? Split(d.p, thirds, -1) : std::vector<Expr>(3);
  const auto gate = [&](const Expr& x, const Expr& peephole, const Expr& cell) {
    return Op(d.activations[0], {Clipped(peephole.valid() ? x + peephole * cell : x, d)});
  };
  const Expr i = gate(gates[0], p[0], c);
  const Expr f = d.input_forget ? 1.0 - i : gate(gates[2], p[2], c);
  const Expr next = f * c + i * Op(d.activations[1], {Clipped(gates[3], d)});
  const Expr o = gate(gates[1], p[1], next);
  return {o * Op(d.activations[2], {next}), next};
}

// Y [length, batch, hidden] and the last states.
std::vector<Expr> Run(const FormulaCall& call, const Direction& d, int64_t hidden) {
  const auto backwards = [&](const Expr& x) {
    return Op("ReverseSequence", {x, d.lengths},
              {{"time_axis", int64_t{0}}, {"batch_axis", int64_t{1}}});
  };
  // Sequences of their own lengths are turned round each.
  const bool turned = d.reversed && d.lengths.valid();
  const Expr x = turned ? backwards(call.input(kX)) : call.input(kX);
  const Expr inputs = Product(x, d.w, d.w_scale, d.w_zero) + d.b;
  ExprSink& sink = call.sink();
  const Expr zero = sink.Scalar(0, DType::kInt64), one = sink.Scalar(1, DType::kInt64);
  const Expr time = Op("Range", {zero, Squeeze(Shape(x, 0, 1), {0}), one});
  std::vector<Expr> results = sink.Scan(
      {d.h, d.c}, {inputs, time},
      [&](ExprSink&, const std::vector<Expr>& carried, const std::vector<Expr>& elements) {
        auto [h, c] = Step(d, elements[0], carried[0], carried[1], hidden);
        Expr y = h;
        if (d.lengths.valid()) {
          const Expr runs = Unsqueeze(Less(elements[1], d.lengths), {1});
          y = Where(runs, h, ScalarLike(h, 0));
          h = Where(runs, h, carried[0]);
          c = Where(runs, c, carried[1]);
        }
        return expr::BodyResult{{}, {h, c}, {y}};
      },
      d.reversed && !turned);
  if (results.size() != 3) return {};
  return {turned ? backwards(results[2]) : results[2], results[0], results[1]};
}

Direction DirectionOf(const FormulaCall& call, int64_t index, int64_t hidden) {
  const Expr at = call.sink().Scalar(static_cast<double>(index), DType::kInt64);
  const auto mine = [&](size_t input) {
    return call.has_input(input) ? Gather(call.input(input), at, 0) : Expr();
  };
  Direction d;
  d.w = mine(kW);
  d.w_scale = mine(kWScale);
  d.w_zero = mine(kWZero);
  d.r = mine(kR);
  d.r_scale = mine(kRScale);
  d.r_zero = mine(kRZero);
  const Expr batch = Shape(call.input(kX), 1, 2);
  const Expr zeros = Expand(call.sink().Scalar(0, DType::kFloat32),
                            Concat({batch, call.sink().Ints({hidden})}, 0));
  d.h = call.has_input(kInitialH) ? mine(kInitialH) : zeros;
  d.c = call.has_input(kInitialC) ? mine(kInitialC) : zeros;
  d.p = mine(kP);
  d.b = call.sink().Scalar(0, DType::kFloat32);
  if (call.has_input(kB)) {
    const std::vector<Expr> halves = Split(mine(kB), {4 * hidden, 4 * hidden}, 0);
    d.b = halves[0] + halves[1];
  }
  if (call.has_input(kLengths)) d.lengths = Cast(call.input(kLengths), DType::kInt64);
  if (call.Has("clip")) d.clip = static_cast<double>(call.Float("clip"));
  d.input_forget = call.Int("input_forget") != 0;
  const std::vector<std::string> given = call.attributes().Strings("activations");
  d.activations = {"Sigmoid", "Tanh", "Tanh"};
  for (size_t i = 0; i < 3; ++i) {
    const size_t from = 3 * static_cast<size_t>(index) + i;
    if (from < given.size()) d.activations[i] = given[from];
    const auto* const end = std::end(kActivations);
    if (std::find(std::begin(kActivations), end, d.activations[i]) == end)
      call.Fail(absl::StrCat("activation '", d.activations[i], "' is not one of those known"));
  }
  return d;
}

std::vector<Expr> DynamicQuantizeLSTM(const FormulaCall& call) {
  const std::string direction = call.String("direction");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t hidden = call.Dim(kR, 1);
  if (direction != "forward" && direction != "reverse" && directions == 1)
    call.Fail(absl::StrCat("direction '", direction, "' is not forward, reverse or bidirectional"));
  if (call.Has("activation_alpha") || call.Has("activation_beta"))
    call.Fail("activation_alpha and activation_beta are not supported for these activations");
  std::vector<Expr> y, h, c;
  for (int64_t i = 0; i < directions && call.sink().status().ok(); ++i) {
    Direction d = DirectionOf(call, i, hidden);
    d.reversed = i == 1 || direction == "reverse";
    if (!call.sink().status().ok()) return {};
    const std::vector<Expr> results = Run(call, d, hidden);
    if (results.empty()) return {};
    y.push_back(Unsqueeze(results[0], {1}));
    h.push_back(Unsqueeze(results[1], {0}));
    c.push_back(Unsqueeze(results[2], {0}));
  }
  if (!call.sink().status().ok()) return {};
  return {Concat(y, 1), Concat(h, 0), Concat(c, 0)};
}

}  // namespace

std::vector<FormulaOp> RecurrentOps() {
  return {
      {"DynamicQuantizeLSTM <activation_alpha: floats?, activation_beta: floats?,"
       " activations: strings?, clip: float?, direction: string = \"forward\", hidden_size: int?,"
       " input_forget: int = 0> (X: T, W: Q, R: Q, B: T?, sequence_lens: I?, initial_h: T?,"
       " initial_c: T?, P: T?, W_scale: T, W_zero_point: Q, R_scale: T, R_zero_point: Q)"
       " -> (Y: T?, Y_h: T?, Y_c: T?) where T = float, I = int32, Q = int8|uint8",
       DynamicQuantizeLSTM},
  };
}

}  // namespace onward::microsoft
