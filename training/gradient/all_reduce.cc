// onward.AllReduce: what a rank adds reaches the losses of all of them.
#include "graph/ops/onward_schemas.h"
#include "onward/functions.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

Gradients AllReduceRule(const GradientScope& s) {
  return std::vector<Expr>{expr::Op("AllReduce", {s.upstream(0)}, {}, kOnwardDomain)};
}

constexpr training::GradientEntry kRules[] = {{"AllReduce", AllReduceRule, "onward"}};

}  // namespace

GradientList AllReduceGradients() { return kRules; }

}  // namespace onward::gradient
