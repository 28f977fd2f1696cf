// Softmax and LogSoftmax over one axis.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Result SoftmaxRule(const GradientScope& s) {
  const int64_t axis = s.attributes().Int("axis", -1);
  const Expr t = s.upstream(0) * s.output(0);
  return {{t - s.output(0) * ReduceSum(t, {axis}, true)}};
}

Result LogSoftmaxRule(const GradientScope& s) {
  const int64_t axis = s.attributes().Int("axis", -1);
  return {{s.upstream(0) - Exp(s.output(0)) * ReduceSum(s.upstream(0), {axis}, true)}};
}

constexpr training::GradientEntry kRules[] = {{"LogSoftmax", LogSoftmaxRule},
                                              {"Softmax", SoftmaxRule}};

}  // namespace

GradientList SoftmaxGradients() { return kRules; }

}  // namespace onward::gradient
