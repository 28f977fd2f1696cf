// Running sums and products.
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// The same running sum of x, in the other direction where `back` is set.
Expr RunningSum(const GradientScope& s, const Expr& x, bool back, bool exclusive) {
  const bool reverse = (s.attributes().Int("reverse", 0) != 0) != back;
  return Op("CumSum", {x, s.input(1)},
            {{"reverse", int64_t{reverse}}, {"exclusive", int64_t{exclusive}}});
}

bool IsExclusive(const GradientScope& s) { return s.attributes().Int("exclusive", 0) != 0; }

Gradients CumSumRule(const GradientScope& s) {
  return {{RunningSum(s, s.upstream(0), true, IsExclusive(s)), Expr()}};
}

// dx_k = sum_j dy_j y_j / x_k over the products j that have factor k. The first zero on the way
// divides by nothing: its products are those of the row without it. Nothing comes through it.
Gradients CumProdRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0), one = ScalarLike(x, 1);
  const Expr at_zero = Equal(x, ScalarLike(x, 0));
  const Expr zeros = RunningSum(s, Cast(at_zero, DType::kInt64), false, false);
  const Expr first = And(at_zero, Equal(zeros, ScalarLike(zeros, 1)));
  const Expr before = Equal(zeros, ScalarLike(zeros, 0));
  const Expr without = Op("CumProd", {Where(first, one, x), s.input(1)}, s.attributes());
  const auto sum = [&](const Expr& products) {
    return RunningSum(s, dy * products, true, IsExclusive(s));
  };
  const Expr through = sum(s.output(0)) / Where(before, x, one);
  return {{Where(before, through, Masked(first, sum(without))), Expr()}};
}

constexpr GradientEntry kRules[] = {{"CumProd", CumProdRule}, {"CumSum", CumSumRule}};

}  // namespace

GradientList CumulativeGradients() { return kRules; }

}  // namespace onward::gradient
