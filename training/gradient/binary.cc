// Elementwise ops of two operands. The driver undoes broadcasting.
#include "training/gradient/families.h"

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

constexpr GradientEntry kRules[] = {
    {"Add", AddRule},   {"Div", DivRule},     {"Mul", MulRule},  {"Sub", SubRule},
    {"Equal", nullptr}, {"Greater", nullptr}, {"Less", nullptr},
};

}  // namespace

GradientList BinaryGradients() { return kRules; }

}  // namespace onward::gradient
