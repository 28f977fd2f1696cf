// Elementwise ops of several operands. The driver undoes broadcasting.
#include <cmath>
#include <limits>
#include <optional>

#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Result AddRule(const GradientScope& s) { return {{s.upstream(0), s.upstream(0)}}; }
Result SubRule(const GradientScope& s) { return {{s.upstream(0), -s.upstream(0)}}; }
Result MulRule(const GradientScope& s) {
  return {{s.upstream(0) * s.input(1), s.upstream(0) * s.input(0)}};
}
Result DivRule(const GradientScope& s) {
  const Expr quotient = s.upstream(0) / s.input(1);
  return {{quotient, -(quotient * s.output(0))}};
}

// a - b trunc(a / b), or with floor where the result has b's sign.
Result ModRule(const GradientScope& s) {
  const Expr quotient = s.input(0) / s.input(1), dy = s.upstream(0);
  const Expr down = Floor(quotient);
  const Expr whole = s.attributes().Int("fmod", 0) == 0
                         ? down
                         : Where(Less(quotient, ScalarLike(quotient, 0)), Ceil(quotient), down);
  return {{dy, -(dy * whole)}};
}

Expr PowByBase(const Expr& a, const Expr& dy, double exponent) {
  if (exponent == 0) return ZerosLike(a);
  if (exponent == 1) return dy;
  if (exponent == 2) return dy * a * 2.0;
  return dy * Pow(a, ScalarLike(a, exponent - 1)) * exponent;
}

// The slope by the base is 0 where the exponent is 0, and by the exponent where the base is 0 and
// the exponent is not negative.
Result PowRule(const GradientScope& s) {
  const Expr a = s.input(0), dy = s.upstream(0);
  if (const std::optional<double> exponent = ConstantScalar(s, 1))
    return {{PowByBase(a, dy, *exponent), Expr()}};
  const bool same = s.input(1).dtype() == a.dtype();
  const Expr b = same ? s.input(1) : Cast(s.input(1), a.dtype());
  const Expr zero = ScalarLike(a, 0);
  const Expr by_base = Where(Equal(b, zero), zero, dy * b * Pow(a, b - 1.0));
  if (!same) return {{by_base, Expr()}};
  const Expr flat = And(Equal(a, zero), GreaterOrEqual(b, zero));
  return {{by_base, dy * Where(flat, zero, s.output(0) * Log(a))}};
}

// Equal operands share the gradient equally.
Result ExtremeRule(const GradientScope& s) {
  if (s.num_inputs() == 1) return {{s.upstream(0)}};
  const Expr y = s.output(0);
  std::vector<Expr> hits;
  for (int i = 0; i < s.num_inputs(); ++i) hits.push_back(Cast(Equal(s.input(i), y), y.dtype()));
  Expr count = hits[0];
  for (size_t i = 1; i < hits.size(); ++i) count = count + hits[i];
  const Expr share = s.upstream(0) / count;
  for (Expr& hit : hits) hit = hit * share;
  return hits;
}

Result SumRule(const GradientScope& s) {
  return std::vector<Expr>(static_cast<size_t>(s.num_inputs()), s.upstream(0));
}
Result MeanRule(const GradientScope& s) {
  const Expr share = s.num_inputs() == 1 ? s.upstream(0) : s.upstream(0) / s.num_inputs();
  return std::vector<Expr>(static_cast<size_t>(s.num_inputs()), share);
}

Result WhereRule(const GradientScope& s) {
  const Expr dy = s.upstream(0), zero = ScalarLike(dy, 0);
  return {{Expr(), Where(s.input(0), dy, zero), Where(s.input(0), zero, dy)}};
}

Result PReluRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0), zero = ScalarLike(x, 0);
  Expr below = dy * s.input(1);
  if (!s.allow_onward_ops()) {
    // At 0 the slope is given, but PyTorch differentiates the gradient as if it were 1 there.
    const auto value = [](const Expr& of) { return Op("StopGradient", {of}, {}, kOnwardDomain); };
    below = Where(Equal(x, zero), value(below) + (dy - value(dy)), below);
  }
  return {{Where(Greater(x, zero), dy, below), Where(GreaterOrEqual(x, zero), zero, dy * x)}};
}

// The float beside `bound` on the side of `to`, as far as floats are normal: others may count as 0.
template <typename T>
T Beside(double bound, T to) {
  const T next = std::nextafter(static_cast<T>(bound), to);
  return std::fpclassify(next) == FP_SUBNORMAL ? std::copysign(std::numeric_limits<T>::min(), to)
                                               : next;
}

// A bound, or the number in it: exporters write CastLike(number, x), which depends on x in form
// only.
ValueId GivenNumber(const GradientScope& s, int bound) {
  const Graph& graph = s.sink().graph();
  const ValueId id = s.input(bound).id();
  const NodeId producer = graph.value(id).producer;
  const bool cast = producer.valid() && graph.node(producer).Is("CastLike");
  return cast ? graph.node(producer).inputs[0] : id;
}

// Where a Clip to the floats inside the bounds leaves x as it is: it lies between them. Not valid()
// where the bounds are not numbers of a dtype that is known here.
Expr UnchangedBetween(const GradientScope& s, const Expr& x) {
  const std::optional<double> low = ScalarValue(s.sink().graph(), GivenNumber(s, 1)),
                              high = ScalarValue(s.sink().graph(), GivenNumber(s, 2));
  const bool wide = x.dtype() == DType::kFloat64;
  if (!low || !high || (!wide && x.dtype() != DType::kFloat32)) return {};
  constexpr float kFar = std::numeric_limits<float>::infinity();
  const double first = wide ? Beside<double>(*low, kFar) : Beside<float>(*low, kFar),
               last = wide ? Beside<double>(*high, -kFar) : Beside<float>(*high, -kFar);
  if (!(first <= last)) return {};
  return Equal(Clip(x, ScalarLike(x, first), ScalarLike(x, last)), x);
}

// Between bounds that are given numbers. They pass nothing to x themselves. The output is at a
// bound where the input is there or beyond: the input is not kept.
Expr ClippedByNumbers(const GradientScope& s) {
  const Expr y = s.output(0), dy = s.upstream(0), low = s.input(1), high = s.input(2);
  if (s.allow_onward_ops()) {
    const Expr dx = Op("ClipGradient", {Widened(y), Widened(dy), Widened(low), Widened(high)}, {},
                       kOnwardDomain);
    return Like(dx, dy);
  }
  if (!low.valid() && !high.valid()) return dy;
  if (!high.valid()) return Masked(Greater(y, low), dy);
  if (!low.valid()) return Masked(Less(y, high), dy);
  const Expr unchanged = UnchangedBetween(s, y);
  return Masked(unchanged.valid() ? unchanged : And(Greater(y, low), Less(y, high)), dy);
}

// Returns whether the bound's gradient is wanted, and it is more than a number.
bool IsVariable(const GradientScope& s, int bound) {
  if (!s.wants(bound)) return false;
  const Graph& graph = s.sink().graph();
  const ValueId source = GivenNumber(s, bound);
  const NodeId producer = graph.value(source).producer;
  return source == s.input(bound).id() ||
         (!graph.is_constant(source) && !(producer.valid() && graph.node(producer).Is("Constant")));
}

// max(x, low), then min with high: equal operands share the gradient; where the bounds cross it
// goes to the upper one, where all three are equal to x.
Result ClipRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0), low = s.input(1), high = s.input(2);
  std::vector<Expr> gradients = NoGradients(s);
  if (!IsVariable(s, 1) && !IsVariable(s, 2)) {
    gradients[0] = ClippedByNumbers(s);
    return gradients;
  }
  const Expr half = dy * 0.5;
  if (low.valid() && high.valid()) {
    const Expr ordered = Less(low, high), crossed = Less(high, low);
    const Expr at_low = And(ordered, Equal(x, low)), at_high = And(ordered, Equal(x, high));
    const Expr inside = And(GreaterOrEqual(x, low), LessOrEqual(x, high));
    gradients[0] = Where(Or(at_low, at_high), half, Masked(inside, dy));
    gradients[1] = Where(at_low, half, Masked(And(Not(crossed), Less(x, low)), dy));
    gradients[2] = Where(at_high, half, Masked(Or(Greater(x, high), crossed), dy));
    return gradients;
  }
  const int side = low.valid() ? 1 : 2;
  const Expr bound = s.input(side), equal = Equal(x, bound);
  const Expr beyond = side == 1 ? Less(x, bound) : Greater(x, bound);
  gradients[0] = Where(equal, half, Masked(Not(beyond), dy));
  gradients[static_cast<size_t>(side)] = Where(equal, half, Masked(beyond, dy));
  return gradients;
}

constexpr training::GradientEntry kRules[] = {
    {"Add", AddRule},     {"Clip", ClipRule},   {"Div", DivRule}, {"Max", ExtremeRule},
    {"Mean", MeanRule},   {"Min", ExtremeRule}, {"Mod", ModRule}, {"Mul", MulRule},
    {"PRelu", PReluRule}, {"Pow", PowRule},     {"Sub", SubRule}, {"Sum", SumRule},
    {"Where", WhereRule},
};

}  // namespace

GradientList BinaryGradients() { return kRules; }

}  // namespace onward::gradient
