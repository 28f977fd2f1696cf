// Elementwise ops of one operand.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Result AbsRule(const GradientScope& s) { return {{s.upstream(0) * Sign(s.input(0))}}; }
Result CosRule(const GradientScope& s) { return {{-(s.upstream(0) * Sin(s.input(0)))}}; }
Result ErfRule(const GradientScope& s) {
  const Expr x = s.input(0);
  return {{s.upstream(0) * Exp(-(x * x)) * 1.1283791670955126}};  // 2 / sqrt(pi)
}
Result ExpRule(const GradientScope& s) { return {{s.upstream(0) * s.output(0)}}; }
Result LogRule(const GradientScope& s) { return {{s.upstream(0) / s.input(0)}}; }
Result NegRule(const GradientScope& s) { return {{-s.upstream(0)}}; }
Result ReciprocalRule(const GradientScope& s) {
  return {{-(s.upstream(0) * s.output(0) * s.output(0))}};
}
// 0 at 0, as PyTorch has it.
Result ReluRule(const GradientScope& s) {
  return {{Where(Greater(s.output(0), ScalarLike(s.output(0), 0)), s.upstream(0),
                 ScalarLike(s.output(0), 0))}};
}
Result SigmoidRule(const GradientScope& s) {
  return {{s.upstream(0) * s.output(0) * (1.0 - s.output(0))}};
}
Result SinRule(const GradientScope& s) { return {{s.upstream(0) * Cos(s.input(0))}}; }
Result SqrtRule(const GradientScope& s) { return {{s.upstream(0) / (s.output(0) * 2.0)}}; }
Result TanhRule(const GradientScope& s) {
  return {{s.upstream(0) * (1.0 - s.output(0) * s.output(0))}};
}

constexpr GradientEntry kRules[] = {
    {"Abs", AbsRule},
    {"Cos", CosRule},
    {"Erf", ErfRule},
    {"Exp", ExpRule},
    {"Log", LogRule},
    {"Neg", NegRule},
    {"Reciprocal", ReciprocalRule},
    {"Relu", ReluRule},
    {"Sigmoid", SigmoidRule},
    {"Sin", SinRule},
    {"Sqrt", SqrtRule},
    {"Tanh", TanhRule},
};

}  // namespace

GradientList UnaryGradients() { return kRules; }

}  // namespace onward::gradient
