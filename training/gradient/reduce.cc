// Reductions. Equal extremes share the gradient; a product's gradient is right where factors are 0.
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// A reduction of the node's input over the node's axes, with axes of size 1 kept.
Expr OverAxes(const GradientScope& s, std::string_view op, const Expr& x) {
  return Op(op, {x, s.input(1)},
            {{"keepdims", int64_t{1}},
             {"noop_with_empty_axes", s.attributes().Int("noop_with_empty_axes", 0)}});
}

// An output or its gradient with size-1 axes where the input was reduced.
Expr WithKeptDims(const GradientScope& s, const Expr& reduced) {
  if (s.attributes().Int("keepdims", 1) != 0) return reduced;
  const auto axes = s.has_input(1) ? ConstantInts(s, 1) : std::vector<int64_t>();
  if (axes && !axes->empty()) return Unsqueeze(reduced, *axes);
  if (axes && s.attributes().Int("noop_with_empty_axes", 0) != 0) return reduced;
  if (axes && s.input(0).type().shape)
    return Reshape(reduced, std::vector<int64_t>(s.input(0).type().shape->size(), 1));
  return Reshape(reduced, Shape(OverAxes(s, "ReduceSum", s.input(0))), true);
}

using Slope = Expr (*)(const GradientScope& s, const Expr& x, const Expr& y, const Expr& dy);

// y and dy come to `slope` with the axes of x.
template <Slope slope>
Gradients Rule(const GradientScope& s) {
  const Expr dy = WithKeptDims(s, s.upstream(0)), y = WithKeptDims(s, s.output(0));
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = slope(s, s.input(0), y, dy);
  return gradients;
}

Expr SumSlope(const GradientScope&, const Expr& x, const Expr&, const Expr& dy) {
  return Expand(dy, Shape(x));
}
Expr MeanSlope(const GradientScope& s, const Expr& x, const Expr&, const Expr& dy) {
  return Expand(OverMeanCount(dy, x, s.output(0)), Shape(x));
}
Expr SumSquareSlope(const GradientScope&, const Expr& x, const Expr&, const Expr& dy) {
  return x * (dy * 2.0);
}
Expr L1Slope(const GradientScope&, const Expr& x, const Expr&, const Expr& dy) {
  return Sign(x) * dy;
}
// 0 where the norm is. Differentiated once more with respect to x it is not a number there, as
// PyTorch's is.
Expr L2Slope(const GradientScope&, const Expr& x, const Expr& y, const Expr& dy) {
  return Masked(Not(Equal(y, ScalarLike(y, 0))), x / y) * dy;
}
Expr LogSumSlope(const GradientScope& s, const Expr& x, const Expr&, const Expr& dy) {
  return Expand(dy / OverAxes(s, "ReduceSum", x), Shape(x));
}
Expr LogSumExpSlope(const GradientScope&, const Expr& x, const Expr& y, const Expr& dy) {
  return dy * Exp(x - y);
}
Expr ExtremeSlope(const GradientScope& s, const Expr& x, const Expr& y, const Expr& dy) {
  const Expr hits = Cast(Equal(x, y), x.dtype());
  return hits * (dy / OverAxes(s, "ReduceSum", hits));
}
Expr ProdSlope(const GradientScope& s, const Expr& x, const Expr&, const Expr& dy) {
  const ZeroFactors factors(x);
  const Expr product = OverAxes(s, "ReduceProd", factors.nonzero) * dy;
  return factors.Others(OverAxes(s, "ReduceSum", factors.count),
                        OverAxes(s, "ReduceSum", factors.zeros), product);
}

constexpr training::GradientEntry kRules[] = {
    {"ReduceL1", Rule<L1Slope>},         {"ReduceL2", Rule<L2Slope>},
    {"ReduceLogSum", Rule<LogSumSlope>}, {"ReduceLogSumExp", Rule<LogSumExpSlope>},
    {"ReduceMax", Rule<ExtremeSlope>},   {"ReduceMean", Rule<MeanSlope>},
    {"ReduceMin", Rule<ExtremeSlope>},   {"ReduceProd", Rule<ProdSlope>},
    {"ReduceSum", Rule<SumSlope>},       {"ReduceSumSquare", Rule<SumSquareSlope>},
};

}  // namespace

GradientList ReduceGradients() { return kRules; }

}  // namespace onward::gradient
