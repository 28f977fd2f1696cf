#include "training/gradient/recurrent_backward.h"

#include <cstdint>
#include <utility>

#include "graph/ops/onward_schemas.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/gradient/driver.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: formulas

class DirectionGradient {
 public:
  // `y`: [steps, batch, hidden]; `upstream`: of y and of the last states, may be omitted; `gates`:
  // may be omitted, and is only of plain LSTMs.
  DirectionGradient(const RecurrentDirection& direction, const Expr& y, std::vector<Expr> upstream,
                    const Expr& gates, bool fused)
      : d_(direction), y_(y), upstream_(std::move(upstream)), gates_(gates), fused_(fused) {}

  absl::StatusOr<std::vector<Expr>> Write() {
    h_ = StatesBefore();
    if (gates_.valid()) {
      StepBackAtOnce(gates_);
    } else {
      Expr product = MatMul(h_, d_.r());
      if (d_.late_bias().valid()) product = product + d_.late_bias();
      if (fused_ && d_.is_plain_lstm()) {
        StepBackAtOnce(d_.Projected() + product);
      } else {
        ONWARD_RETURN_IF_ERROR(ScanBack(d_.Projected(), product));
      }
    }
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

  void StepBackAtOnce(const Expr& gates) {
    const Expr h0 = d_.Initial(kInitialH), c0 = d_.Initial(kInitialC);
    std::vector<Expr> inputs = {gates, d_.r_rows(), c0, FirstGradient(1, h0), FirstGradient(2, c0)};
    if (upstream_[0].valid()) inputs.push_back(upstream_[0]);
    const std::vector<Expr> all =
        Ops("LstmGradient", inputs, 3, {{"reversed", int64_t{d_.reversed()}}}, kOnwardDomain);
    results_ = {all[0], all[0]};
    states_ = {all[1], all[2]};
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
        const Expr through = MatMul((*found)[1], d_.r_rows());
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
  const Expr gates_;
  const bool fused_;
  Expr h_;
  std::vector<Expr> states_, results_;
};

}  // namespace

absl::StatusOr<std::vector<Expr>> DirectionGradients(const RecurrentDirection& direction,
                                                     const Expr& y,
                                                     const std::vector<Expr>& upstream,
                                                     const Expr& gates, bool allow_onward_ops) {
  return DirectionGradient(direction, y, upstream, gates, allow_onward_ops).Write();
}

}  // namespace onward::gradient
