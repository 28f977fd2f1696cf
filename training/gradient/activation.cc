// Activations. At kinks and far out the derivative is PyTorch's; what is exponentiated in a branch
// that is not taken stays finite, so that gradients of gradients do too.
#include "graph/ops/onward_schemas.h"
#include "graph/ops/selu.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Expr Positive(const Expr& x) { return Greater(x, ScalarLike(x, 0)); }
// exp(x / scale) for x below 0, 1 above.
Expr ExpOfNegative(const Expr& x, double scale = 1) {
  const Expr zero = ScalarLike(x, 0);
  const Expr low = Where(GreaterOrEqual(x, zero), zero, x);
  return Exp(scale == 1 ? low : low / scale);
}

Result ReluRule(const GradientScope& s) {
  if (s.allow_onward_ops()) {
    const Expr dy = s.upstream(0);
    return {{Like(Op("ReluGradient", {Widened(s.output(0)), Widened(dy)}, {}, kOnwardDomain), dy)}};
  }
  return {{Masked(Positive(s.output(0)), s.upstream(0))}};
}
Result LeakyReluRule(const GradientScope& s) {
  const double alpha = s.attributes().Float("alpha", 0.01f);
  return {{Where(Positive(s.input(0)), s.upstream(0), s.upstream(0) * alpha)}};
}
Result ThresholdedReluRule(const GradientScope& s) {
  const Expr alpha = ScalarLike(s.input(0), s.attributes().Float("alpha", 1));
  return {{Masked(Greater(s.input(0), alpha), s.upstream(0))}};
}
Result ShrinkRule(const GradientScope& s) {
  const Expr bound = ScalarLike(s.input(0), s.attributes().Float("lambd", 0.5f));
  return {{Masked(Greater(Abs(s.input(0)), bound), s.upstream(0))}};
}

Result EluRule(const GradientScope& s) {
  const double alpha = s.attributes().Float("alpha", 1);
  const Expr dy = s.upstream(0);
  return {{Where(Positive(s.input(0)), dy, dy * ExpOfNegative(s.input(0)) * alpha)}};
}
Result CeluRule(const GradientScope& s) {
  const double alpha = s.attributes().Float("alpha", 1);
  const Expr dy = s.upstream(0);
  return {{Where(Positive(s.input(0)), dy, dy * ExpOfNegative(s.input(0), alpha))}};
}
Result SeluRule(const GradientScope& s) {
  const double alpha = s.attributes().Float("alpha", kSeluAlpha);
  const double gamma = s.attributes().Float("gamma", kSeluGamma);
  const Expr dy = s.upstream(0) * gamma;
  return {{Where(Positive(s.input(0)), dy, dy * ExpOfNegative(s.input(0)) * alpha)}};
}

Result SigmoidRule(const GradientScope& s) {
  return {{s.upstream(0) * s.output(0) * (1.0 - s.output(0))}};
}
Result HardSigmoidRule(const GradientScope& s) {
  const double alpha = s.attributes().Float("alpha", 0.2f);
  const Expr y = s.output(0);
  const Expr inside = And(Positive(y), Less(y, ScalarLike(y, 1)));
  return {{Masked(inside, s.upstream(0) * alpha)}};
}
// x * clip(x / 6 + 1 / 2, 0, 1); flat from -3 down, the identity from 3 up.
Result HardSwishRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0);
  const Expr between = Where(Less(x, ScalarLike(x, 3)), dy * (x / 3.0 + 0.5), dy);
  return {{Masked(Greater(x, ScalarLike(x, -3)), between)}};
}
Result SoftplusRule(const GradientScope& s) { return {{s.upstream(0) * Sigmoid(s.input(0))}}; }
Result SoftsignRule(const GradientScope& s) {
  const Expr d = Abs(s.input(0)) + 1.0;
  return {{s.upstream(0) / (d * d)}};
}

// x sigmoid(alpha x)
Result SwishRule(const GradientScope& s) {
  const double alpha = s.attributes().Float("alpha", 1);
  const Expr x = alpha == 1 ? s.input(0) : s.input(0) * alpha;
  const Expr sigmoid = Sigmoid(x);
  return {{s.upstream(0) * sigmoid * (x * (1.0 - sigmoid) + 1.0)}};
}
// x tanh(softplus(x))
Result MishRule(const GradientScope& s) {
  const Expr x = s.input(0), t = Tanh(Op("Softplus", {x}));
  return {{s.upstream(0) * (t + x * Sigmoid(x) * (1.0 - t * t))}};
}
Result GeluRule(const GradientScope& s) {
  const Expr x = s.input(0);
  if (s.attributes().String("approximate", "none") == "tanh") {
    constexpr double kScale = 0.7978845608028654;  // sqrt(2 / pi)
    const Expr square = x * x;
    const Expr t = Tanh(x * (square * 0.044715 + 1.0) * kScale);
    const Expr slope = (square * (3 * 0.044715) + 1.0) * kScale;
    return {{s.upstream(0) * ((t + 1.0) + x * (1.0 - t * t) * slope) * 0.5}};
  }
  const Expr cumulative = (Erf(x * 0.7071067811865476) + 1.0) * 0.5;
  const Expr density = Exp(x * x * -0.5) * 0.3989422804014327;  // 1 / sqrt(2 pi)
  return {{s.upstream(0) * (cumulative + x * density)}};
}

constexpr training::GradientEntry kRules[] = {
    {"Celu", CeluRule},
    {"Elu", EluRule},
    {"Gelu", GeluRule},
    {"HardSigmoid", HardSigmoidRule},
    {"HardSwish", HardSwishRule},
    {"LeakyRelu", LeakyReluRule},
    {"Mish", MishRule},
    {"Relu", ReluRule},
    {"Selu", SeluRule},
    {"Shrink", ShrinkRule},
    {"Sigmoid", SigmoidRule},
    {"Softplus", SoftplusRule},
    {"Softsign", SoftsignRule},
    {"Swish", SwishRule},
    {"ThresholdedRelu", ThresholdedReluRule},
};

}  // namespace

GradientList ActivationGradients() { return kRules; }

}  // namespace onward::gradient
