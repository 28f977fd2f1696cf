// Ops whose output has the elements of input 0 in the same order.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Result IdentityRule(const GradientScope& s) { return {{s.upstream(0)}}; }
Result ReshapeRule(const GradientScope& s) {
  std::vector<Expr> gradients(static_cast<size_t>(s.num_inputs()));
  gradients[0] = Reshape(s.upstream(0), Shape(s.input(0)), true);
  return gradients;
}

constexpr GradientEntry kRules[] = {
    {"Flatten", ReshapeRule}, {"Identity", IdentityRule}, {"Reshape", ReshapeRule},
    {"Squeeze", ReshapeRule}, {"Unsqueeze", ReshapeRule},
};

}  // namespace

GradientList IdentityGradients() { return kRules; }

}  // namespace onward::gradient
