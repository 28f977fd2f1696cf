// Reductions over constant axes.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

// The upstream gradient with size-1 axes where the input was reduced.
Expr WithKeptDims(const GradientScope& s) {
  const Expr dy = s.upstream(0);
  if (s.attributes().Int("keepdims", 1) != 0) return dy;
  if (s.has_input(1)) return Op("Unsqueeze", {dy, s.input(1)});
  return Reshape(dy, std::vector<int64_t>(s.input(0).type().shape->size(), 1));
}

Result ReduceSumRule(const GradientScope& s) {
  if (!s.input(0).type().shape) return absl::UnimplementedError("the rank is not known");
  std::vector<Expr> gradients(static_cast<size_t>(s.num_inputs()));
  gradients[0] = Expand(WithKeptDims(s), Shape(s.input(0)));
  return gradients;
}

Result ReduceMeanRule(const GradientScope& s) {
  Result gradients = ReduceSumRule(s);
  if (!gradients.ok()) return gradients;
  const DType dtype = s.input(0).dtype();
  (*gradients)[0] =
      (*gradients)[0] * (Cast(Size(s.output(0)), dtype) / Cast(Size(s.input(0)), dtype));
  return gradients;
}

constexpr GradientEntry kRules[] = {{"ReduceMean", ReduceMeanRule}, {"ReduceSum", ReduceSumRule}};

}  // namespace

GradientList ReduceGradients() { return kRules; }

}  // namespace onward::gradient
