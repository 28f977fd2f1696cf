// LSTM, GRU and RNN. The gates before their activations are computed again from the states that Y
// has, for all steps in one product; a Scan then goes through the steps from the last to the first
// with the gradients of the states. It gives the gradients of the gates, from which those of X and
// of the weights are products over all steps.
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "graph/builder/functions.h"
#include "training/gradient/body.h"
#include "training/gradient/driver.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"
#include "training/gradient/recurrent_cell.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// The node's Y; a node without that output is replaced by one that has it.
absl::StatusOr<Expr> OutputY(const GradientScope& s) {
  if (s.node().outputs[0].valid()) return s.output(0);
  Graph& graph = s.sink().graph();
  Node node = NodeLike(s.node());
  node.inputs = s.node().inputs;
  node.outputs = s.node().outputs;
  const std::string name = absl::StrCat(s.sink().prefix(), node.op_type, "/y");
  node.outputs[0] = graph.AddValue(graph.UniqueName(name), Type());
  const ValueId y = node.outputs[0];
  graph.RemoveNode(s.id());
  ONWARD_RETURN_IF_ERROR(InferNode(graph, graph.AddNode(std::move(node)), &s.sink().known()));
  return s.sink().Value(y);
}

// Gradients of one direction's inputs, in the order of RecurrentInput.
class DirectionGradient {
 public:
  // `y`: [steps, batch, hidden]; `upstream`: of y and of the last states, may be omitted.
  DirectionGradient(const RecurrentDirection& direction, const Expr& y, std::vector<Expr> upstream)
      : d_(direction), y_(y), upstream_(std::move(upstream)) {}

  absl::StatusOr<std::vector<Expr>> Write() {
    h_ = StatesBefore();
    Expr product = MatMul(h_, d_.r());
    if (d_.late_bias().valid()) product = product + d_.late_bias();
    ONWARD_RETURN_IF_ERROR(ScanBack(d_.Projected(), product));
    std::vector<Expr> gradients(8);
    const Expr dx = Flat(results_[0]), dp = Flat(results_[1]);
    gradients[kX] = MatMul(results_[0], d_.w());
    gradients[kW] = MatMul(Transpose(dx, {1, 0}), Flat(d_.x()));
    gradients[kR] = MatMul(Transpose(dp, {1, 0}), Flat(h_));
    if (d_.Has(kB))
      gradients[kB] = expr::Concat({ReduceSum(dx, {0}, false), ReduceSum(dp, {0}, false)}, 0);
    gradients[kInitialH] = states_[0];
    if (d_.is_lstm()) gradients[kInitialC] = states_[1];
    if (d_.Has(kPeepholes)) gradients[kPeepholes] = states_.back();
    return gradients;
  }

 private:
  // [steps * batch, n].
  static Expr Flat(const Expr& x) { return Op("Flatten", {x}, {{"axis", int64_t{2}}}); }

  // h before each step: [steps, batch, hidden]. Where a sequence begins at its end, it is the
  // initial state, and not the zero that Y has behind the end.
  Expr StatesBefore() const {
    constexpr int64_t kEnd = INT64_MAX;
    const Expr first = Unsqueeze(d_.Initial(kInitialH), {0});
    if (!d_.reversed()) return expr::Concat({first, Slice(y_, {0}, {-1}, {0})}, 0);
    const Expr after = expr::Concat({Slice(y_, {1}, {kEnd}, {0}), first}, 0);
    if (!d_.Has(kLens)) return after;
    const Expr next = Unsqueeze(d_.Times() + 1.0, {1});
    return Where(Unsqueeze(TimesGoOn(next), {2}), after, first);
  }
  // bool[steps, batch] for times of [steps, 1].
  Expr TimesGoOn(const Expr& times) const { return Squeeze(d_.GoesOn(times), {1}); }

  Expr FirstGradient(size_t output, const Expr& state) const {
    return upstream_[output].valid() ? upstream_[output] : ZerosLike(state);
  }

  // c before each step.
  Expr CellsBefore(const Expr& gates, const Expr& product, const Expr& first) const {
    std::vector<Expr> scanned = {gates + product};
    if (d_.Has(kLens)) scanned.push_back(d_.Times());
    return gates.sink()->Scan(
        {first}, scanned,
        [&](ExprSink& body, const std::vector<Expr>& c, const std::vector<Expr>& e) {
          const Expr none = body.Scalar(0, e[0].dtype());
          Expr next = d_.Cell(e[0], none, {Expr(), c[0]}, d_.peepholes())[1];
          if (e.size() > 1) next = Where(d_.GoesOn(e[1]), next, c[0]);
          return BodyResult{{}, {next}, {Identity(c[0])}};
        },
        d_.reversed())[1];
  }

  absl::Status ScanBack(const Expr& gates, const Expr& product) {
    std::vector<Expr> scanned = {gates, product, h_};
    const Expr h0 = d_.Initial(kInitialH);
    std::vector<Expr> first = {FirstGradient(1, h0)};
    if (d_.is_lstm()) {
      const Expr c0 = d_.Initial(kInitialC);
      first.push_back(FirstGradient(2, c0));
      scanned.push_back(CellsBefore(gates, product, c0));
    }
    if (d_.Has(kPeepholes)) first.push_back(ZerosLike(d_.peepholes()));
    if (upstream_[0].valid()) scanned.push_back(upstream_[0]);
    if (d_.Has(kLens)) scanned.push_back(d_.Times());
    absl::Status status;
    std::vector<Expr> all = gates.sink()->Scan(
        first, scanned,
        [&](ExprSink& body, const std::vector<Expr>& carried, const std::vector<Expr>& elements) {
          return StepBack(dynamic_cast<GraphSink&>(body), carried, elements, status);
        },
        !d_.reversed());
    ONWARD_RETURN_IF_ERROR(status);
    ONWARD_RETURN_IF_ERROR(gates.sink()->status());
    const auto count = static_cast<std::ptrdiff_t>(first.size());
    states_.assign(all.begin(), all.begin() + count);
    results_.assign(all.begin() + count, all.end());
    return absl::OkStatus();
  }

  // Carried: the gradients of h and c after the step, and the sum of the peepholes'.
  BodyResult StepBack(GraphSink& body, const std::vector<Expr>& carried,
                      const std::vector<Expr>& elements, absl::Status& status) const {
    const size_t states = d_.is_lstm() ? 2 : 1;
    const Expr peepholes = d_.peepholes().valid() ? body.Op("Identity", {d_.peepholes()}) : Expr();
    const std::vector<Expr> before(elements.begin() + 2,
                                   elements.begin() + 2 + static_cast<std::ptrdiff_t>(states));
    const std::vector<Expr> after = d_.Cell(elements[0], elements[1], before, peepholes);
    std::vector<Expr> flowing(carried.begin(),
                              carried.begin() + static_cast<std::ptrdiff_t>(states));
    if (upstream_[0].valid()) flowing[0] = flowing[0] + elements[2 + states];
    const Expr goes_on = d_.Has(kLens) ? d_.GoesOn(elements.back()) : Expr();
    std::vector<GradientTarget> targets;
    for (size_t i = 0; i < states; ++i) {
      if (goes_on.valid()) flowing[i] = Masked(goes_on, flowing[i]);
      targets.push_back({after[i].id(), flowing[i].id()});
    }
    std::vector<ValueId> wrt = {elements[0].id(), elements[1].id()};
    for (const Expr& state : before) wrt.push_back(state.id());
    if (peepholes.valid()) wrt.push_back(peepholes.id());
    if (status = body.status(); !status.ok()) return {};
    const auto found = Differentiate(body, targets, wrt, GradientOptions());
    if (status = found.status(); !status.ok()) return {};
    std::vector<Expr> next;
    for (size_t i = 0; i < states; ++i) {
      Expr gradient = (*found)[2 + i];
      if (i == 0) {
        const Expr through = MatMul((*found)[1], body.Op("Transpose", {d_.r()}));
        gradient = gradient.valid() ? gradient + through : through;
      }
      next.push_back(goes_on.valid() ? Where(goes_on, gradient, carried[i]) : gradient);
    }
    if (peepholes.valid()) next.push_back(carried.back() + found->back());
    return {{}, next, {(*found)[0], (*found)[1]}};
  }

  const RecurrentDirection& d_;
  const Expr y_;
  const std::vector<Expr> upstream_;
  Expr h_;
  std::vector<Expr> states_, results_;
};

// Both directions' parts beside each other.
Expr Stacked(const std::vector<Expr>& parts, int64_t axis) {
  std::vector<Expr> own;
  for (const Expr& part : parts) own.push_back(Unsqueeze(part, {axis}));
  return own.size() == 1 ? own[0] : expr::Concat(own, axis);
}

Expr WideOf(const Expr& x) {
  const bool narrow = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  return narrow ? Cast(x, DType::kFloat32) : x;
}

// [steps, batch, hidden] of the direction.
Expr StepsOf(const RecurrentDirection& direction, const Expr& y, bool batch_first) {
  if (!batch_first) return direction.Own(y, 1);
  return Transpose(direction.Own(y, 2), {1, 0, 2});
}

Gradients FromStates(const GradientScope& s, const RecurrentAttributes& a) {
  std::vector<Expr> given, inputs, gradients = NoGradients(s);
  for (int i = 0; i < s.num_inputs(); ++i) {
    given.push_back(s.input(i));
    inputs.push_back(WideOf(given.back()));
  }
  ONWARD_ASSIGN_OR_RETURN(const Expr output, OutputY(s));  // may replace the node
  const int64_t state_axis = a.batch_first ? 1 : 0;
  std::vector<std::vector<Expr>> by_input(8);
  for (int d = 0; d < a.directions; ++d) {
    const RecurrentDirection direction(a, inputs, d);
    std::vector<Expr> upstream(3);
    if (s.upstream(0).valid())
      upstream[0] = StepsOf(direction, WideOf(s.upstream(0)), a.batch_first);
    for (int i = 1; i < 3; ++i) {
      if (s.upstream(i).valid())
        upstream[static_cast<size_t>(i)] = direction.Own(WideOf(s.upstream(i)), state_axis);
    }
    DirectionGradient gradient(direction, StepsOf(direction, WideOf(output), a.batch_first),
                               std::move(upstream));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Expr> own, gradient.Write());
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i].valid()) by_input[i].push_back(own[i]);
    }
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::vector<Expr>& parts = by_input[i];
    if (parts.empty() || !s.wants(static_cast<int>(i))) continue;
    if (i == kX) {
      const Expr sum = parts.size() == 1 ? parts[0] : parts[0] + parts[1];
      gradients[i] = a.batch_first ? Transpose(sum, {1, 0, 2}) : sum;
    } else if (i == kR) {
      gradients[i] = Stacked(parts, 0);
    } else {
      gradients[i] = Stacked(parts, i == kInitialH || i == kInitialC ? state_axis : 0);
    }
    const DType dtype = given[i].dtype();
    if (gradients[i].dtype() != dtype) gradients[i] = Cast(gradients[i], dtype);
  }
  return gradients;
}

// A GRU that multiplies twice per step: through a Scan as long as the recurrence.
Gradients ThroughScan(const GradientScope& s, const RecurrentAttributes& a) {
  const DType dtype = s.input(kX).dtype();
  return GradientsOf(s, [&](const std::vector<Expr>& given) {
    std::vector<Expr> inputs, ys, states;
    for (const Expr& input : given) inputs.push_back(WideOf(input));
    for (int d = 0; d < a.directions; ++d) {
      const RecurrentDirection direction(a, inputs, d);
      std::vector<Expr> scanned = {direction.Projected()};
      if (direction.Has(kLens)) scanned.push_back(direction.Times());
      const std::vector<Expr> results = scanned[0].sink()->Scan(
          {direction.Initial(kInitialH)}, scanned,
          [&](ExprSink&, const std::vector<Expr>& h, const std::vector<Expr>& e) {
            const Expr next = direction.GruStep(e[0], h[0]);
            if (e.size() == 1) return BodyResult{{}, {next}, {next}};
            const Expr goes_on = direction.GoesOn(e[1]);
            return BodyResult{{}, {Where(goes_on, next, h[0])}, {Masked(goes_on, next)}};
          },
          direction.reversed());
      ys.push_back(a.batch_first ? Transpose(results[1], {1, 0, 2}) : results[1]);
      states.push_back(results[0]);
    }
    std::vector<Expr> outputs = {Stacked(ys, a.batch_first ? 2 : 1),
                                 Stacked(states, a.batch_first ? 1 : 0)};
    for (Expr& output : outputs) {
      if (output.dtype() != dtype) output = Cast(output, dtype);
    }
    return outputs;
  });
}

template <RecurrentOp kOp>
Gradients RecurrentRule(const GradientScope& s) {
  const KernelOptions options;
  ONWARD_ASSIGN_OR_RETURN(
      const RecurrentAttributes attributes,
      RecurrentAttributes::Parse(NodeSpec(s.sink().graph(), s.id(), options), kOp));
  const bool twice = kOp == RecurrentOp::kGru && !attributes.linear_before_reset;
  return twice ? ThroughScan(s, attributes) : FromStates(s, attributes);
}

constexpr GradientEntry kRules[] = {{"GRU", RecurrentRule<RecurrentOp::kGru>},
                                    {"LSTM", RecurrentRule<RecurrentOp::kLstm>},
                                    {"RNN", RecurrentRule<RecurrentOp::kRnn>}};

}  // namespace

GradientList RecurrentGradients() { return kRules; }

}  // namespace onward::gradient
