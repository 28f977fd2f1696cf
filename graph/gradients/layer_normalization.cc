// The gradient of LayerNormalization over the last axis (Ba, Kiros and Hinton, "Layer
// Normalization", 2016).
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

// With n = (x - mean) / deviation and g = dy scale, dX is (g - mean(g) - n mean(g n)) / deviation.
std::vector<Expr> LayerNormalizationGradient(const FormulaCall& call) {
  const Expr scale = call.input(1), dy = Saved(call.input(2), scale),
             x = Saved(call.input(0), scale);
  const std::vector<int64_t> last = {-1};
  const Expr centered = x - ReduceMean(x, last);
  const Expr variance = ReduceMean(centered * centered, last);
  const Expr inverse = Reciprocal(Sqrt(variance + static_cast<double>(call.Float("epsilon"))));
  const Expr normal = centered * inverse, g = dy * scale;
  const Expr dx = (g - ReduceMean(g, last) - normal * ReduceMean(g * normal, last)) * inverse;
  const auto rows = [&](const Expr& each) { return Op("Flatten", {each}, {{"axis", -1}}); };
  return {dx, ReduceSum(rows(dy * normal), {0}, false), ReduceSum(rows(dy), {0}, false)};
}

}  // namespace

std::vector<FormulaOp> LayerNormalizationOps() {
  return {
      {"LayerNormalizationGradient <epsilon: float = 1e-5> (X: S, scale: T, dY: R)"
       " -> (dX: T, dscale: T, dB: T)"
       " where S = float|double|float16|bfloat16, T = float|double,"
       " R = float|double|float16|bfloat16",
       LayerNormalizationGradient}};
}

}  // namespace onward::gradients
