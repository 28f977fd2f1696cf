// The gradient of BatchNormalization with the statistics of the batch (Ioffe and Szegedy, "Batch
// Normalization", 2015, section 3).
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

std::vector<Expr> BatchNormalizationGradient(const FormulaCall& call) {
  const Expr dy = Saved(call.input(2), call.input(1)), x = Saved(call.input(0), dy);
  const int64_t rank = call.Rank(0);
  if (rank < 2) call.Fail("X has no channels");
  std::vector<int64_t> others = {0}, channels = {-1};
  for (int64_t i = 2; i < rank; ++i) {
    others.push_back(i);
    channels.push_back(1);
  }
  const Expr scale = Reshape(call.input(1), channels);
  const Expr centered = x - ReduceMean(x, others);
  const Expr variance = ReduceMean(centered * centered, others);
  const Expr inverse = Reciprocal(Sqrt(variance + static_cast<double>(call.Float("epsilon"))));
  const Expr normal = centered * inverse, product = dy * normal;
  const Expr dx =
      (dy - ReduceMean(dy, others) - normal * ReduceMean(product, others)) * (scale * inverse);
  return {Saved(dx, call.input(2)), ReduceSum(product, others, false),
          ReduceSum(dy, others, false)};
}

}  // namespace

std::vector<FormulaOp> BatchNormalizationOps() {
  return {
      {"BatchNormalizationGradient <epsilon: float = 1e-5> (X: S, scale: T, dY: R)"
       " -> (dX: R, dscale: T, dB: T)"
       " where S = float|double|float16|bfloat16, T = float|double,"
       " R = float|double|float16|bfloat16",
       BatchNormalizationGradient}};
}

}  // namespace onward::gradients
