#include "training/rewrite/clip.h"

#include <cmath>

#include "onward/functions.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

// PyTorch's, against division by zero.
constexpr double kTiny = 1e-6;

Expr Norm(const Expr& x, double power) {
  if (std::isinf(power)) return ReduceMax(Abs(x), {}, false);
  if (power == 1) return ReduceSum(Abs(x), {}, false);
  if (power == 2) return Op("ReduceL2", {x}, {{"keepdims", int64_t{0}}});
  const Expr sum = ReduceSum(Pow(Abs(x), ScalarLike(x, power)), {}, false);
  return Pow(sum, ScalarLike(x, 1 / power));
}

// min(most / norm, 1).
Expr Factor(const Expr& norm, double most) {
  return Min(ScalarLike(norm, most) / (norm + kTiny), ScalarLike(norm, 1));
}

}  // namespace

ClippedGradients ClipByGlobalNorm(const std::vector<Expr>& gradients, double most, double power) {
  if (gradients.empty()) return {};
  const DType dtype = gradients[0].dtype();
  std::vector<Expr> norms;
  for (const Expr& gradient : gradients)
    norms.push_back(Unsqueeze(Cast(Norm(gradient, power), dtype), {0}));
  ClippedGradients clipped;
  clipped.norm = Norm(expr::Concat(norms, 0), power);
  const Expr factor = Factor(clipped.norm, most);
  for (const Expr& gradient : gradients)
    clipped.gradients.push_back(gradient * Cast(factor, gradient.dtype()));
  return clipped;
}

std::vector<Expr> ClipEachByNorm(const std::vector<Expr>& gradients, double most, double power) {
  std::vector<Expr> clipped;
  for (const Expr& gradient : gradients)
    clipped.push_back(gradient * Factor(Norm(gradient, power), most));
  return clipped;
}

std::vector<Expr> ClipByValue(const std::vector<Expr>& gradients, double most) {
  std::vector<Expr> clipped;
  for (const Expr& gradient : gradients)
    clipped.push_back(Clip(gradient, ScalarLike(gradient, -most), ScalarLike(gradient, most)));
  return clipped;
}

}  // namespace onward::training
