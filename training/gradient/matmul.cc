// Matrix products.
#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Expr SwapLastAxes(const Expr& x) {
  std::vector<int64_t> perm(x.type().shape->size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return Transpose(x, perm);
}

Result MatMulRule(const GradientScope& s) {
  const Expr a = s.input(0), b = s.input(1), dy = s.upstream(0);
  for (const Expr& operand : {a, b}) {
    if (!operand.type().shape || operand.type().shape->size() < 2) {
      return absl::UnimplementedError(
          absl::StrCat("an operand of ", operand.type().ToString(), " cannot be differentiated"));
    }
  }
  return {{MatMul(dy, SwapLastAxes(b)), MatMul(SwapLastAxes(a), dy)}};
}

Result GemmRule(const GradientScope& s) {
  const bool ta = s.attributes().Int("transA", 0) != 0, tb = s.attributes().Int("transB", 0) != 0;
  const float alpha = s.attributes().Float("alpha", 1), beta = s.attributes().Float("beta", 1);
  const Expr a = s.input(0), b = s.input(1), dy = s.upstream(0);
  const Expr da = ta ? Gemm(b, dy, {}, tb, true, alpha) : Gemm(dy, b, {}, false, !tb, alpha);
  const Expr db = tb ? Gemm(dy, a, {}, true, ta, alpha) : Gemm(a, dy, {}, !ta, false, alpha);
  std::vector<Expr> gradients = {da, db};
  if (s.num_inputs() > 2)
    gradients.push_back(s.has_input(2) ? (beta == 1 ? dy : dy * beta) : Expr());
  return gradients;
}

constexpr GradientEntry kRules[] = {{"Gemm", GemmRule}, {"MatMul", MatMulRule}};

}  // namespace

GradientList MatMulGradients() { return kRules; }

}  // namespace onward::gradient
