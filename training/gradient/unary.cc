// Elementwise functions of one operand, activations excepted.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Expr Square(const Expr& x) { return x * x; }

Result AbsRule(const GradientScope& s) { return {{s.upstream(0) * Sign(s.input(0))}}; }
Result AcosRule(const GradientScope& s) {
  return {{-(s.upstream(0) / Sqrt(1.0 - Square(s.input(0))))}};
}
Result AcoshRule(const GradientScope& s) {
  return {{s.upstream(0) / Sqrt(Square(s.input(0)) - 1.0)}};
}
Result AsinRule(const GradientScope& s) {
  return {{s.upstream(0) / Sqrt(1.0 - Square(s.input(0)))}};
}
Result AsinhRule(const GradientScope& s) {
  return {{s.upstream(0) / Sqrt(Square(s.input(0)) + 1.0)}};
}
Result AtanRule(const GradientScope& s) { return {{s.upstream(0) / (Square(s.input(0)) + 1.0)}}; }
Result AtanhRule(const GradientScope& s) { return {{s.upstream(0) / (1.0 - Square(s.input(0)))}}; }
Result CastRule(const GradientScope& s) {
  std::vector<Expr> gradients(static_cast<size_t>(s.num_inputs()));
  gradients[0] = Cast(s.upstream(0), s.input(0).dtype());
  return gradients;
}
Result CosRule(const GradientScope& s) { return {{-(s.upstream(0) * Sin(s.input(0)))}}; }
Result CoshRule(const GradientScope& s) { return {{s.upstream(0) * Op("Sinh", {s.input(0)})}}; }
Result ErfRule(const GradientScope& s) {
  return {{s.upstream(0) * Exp(-Square(s.input(0))) * 1.1283791670955126}};  // 2 / sqrt(pi)
}
Result ExpRule(const GradientScope& s) { return {{s.upstream(0) * s.output(0)}}; }
Result LogRule(const GradientScope& s) { return {{s.upstream(0) / s.input(0)}}; }
Result NegRule(const GradientScope& s) { return {{-s.upstream(0)}}; }
Result ReciprocalRule(const GradientScope& s) { return {{-(s.upstream(0) * Square(s.output(0)))}}; }
Result SinRule(const GradientScope& s) { return {{s.upstream(0) * Cos(s.input(0))}}; }
Result SinhRule(const GradientScope& s) { return {{s.upstream(0) * Op("Cosh", {s.input(0)})}}; }
Result SqrtRule(const GradientScope& s) { return {{s.upstream(0) / (s.output(0) * 2.0)}}; }
Result TanRule(const GradientScope& s) { return {{s.upstream(0) * (Square(s.output(0)) + 1.0)}}; }
Result TanhRule(const GradientScope& s) { return {{s.upstream(0) * (1.0 - Square(s.output(0)))}}; }

constexpr training::GradientEntry kRules[] = {
    {"Abs", AbsRule},       {"Acos", AcosRule},
    {"Acosh", AcoshRule},   {"Asin", AsinRule},
    {"Asinh", AsinhRule},   {"Atan", AtanRule},
    {"Atanh", AtanhRule},   {"Cast", CastRule},
    {"CastLike", CastRule}, {"Cos", CosRule},
    {"Cosh", CoshRule},     {"Erf", ErfRule},
    {"Exp", ExpRule},       {"Log", LogRule},
    {"Neg", NegRule},       {"Reciprocal", ReciprocalRule},
    {"Sin", SinRule},       {"Sinh", SinhRule},
    {"Sqrt", SqrtRule},     {"Tan", TanRule},
    {"Tanh", TanhRule},
};

}  // namespace

GradientList UnaryGradients() { return kRules; }

}  // namespace onward::gradient
