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

// The sum over the products j that have factor k of dy_j times their other factors, as
// ZeroFactors::Others has them of one product.
Gradients CumProdRule(const GradientScope& s) {
  const Expr x = s.input(0);
  const ZeroFactors factors(x);
  const Expr count = RunningSum(s, Cast(factors.at_zero, DType::kInt64), false, IsExclusive(s));
  const Expr zeros = RunningSum(s, factors.zeros, false, IsExclusive(s));
  const Expr product = s.upstream(0) * Op("CumProd", {factors.nonzero, s.input(1)}, s.attributes());
  const auto with = [&](int zero_factors) {
    return Masked(Equal(count, ScalarLike(count, zero_factors)), product);
  };
  const auto sum = [&](const Expr& terms) { return RunningSum(s, terms, true, IsExclusive(s)); };
  const Expr one = with(1), two = with(2);
  const Expr at_zero = sum(one + two * zeros) - x * sum(two);
  return {{Where(factors.at_zero, at_zero, sum(with(0) + one * zeros) / factors.nonzero), Expr()}};
}

constexpr training::GradientEntry kRules[] = {{"CumProd", CumProdRule}, {"CumSum", CumSumRule}};

}  // namespace

GradientList CumulativeGradients() { return kRules; }

}  // namespace onward::gradient
