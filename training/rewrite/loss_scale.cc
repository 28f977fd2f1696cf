#include "training/rewrite/loss_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/rewrite/state.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::training {

using namespace expr;  // NOLINT: reads as formulas

double LeastLossScale(const PrecisionConfig& config) {
  return std::min(config.least_loss_scale(), config.loss_scale());
}

LossScale NextLossScale(const PrecisionConfig& config, LossScale scale, bool finite) {
  const auto times = [&](double factor) {
    return static_cast<double>(static_cast<float>(scale.scale * factor));
  };
  if (!finite) return {std::max(times(config.backoff()), LeastLossScale(config)), 0};
  if (scale.steps + 1 < config.growth_interval()) return {scale.scale, scale.steps + 1};
  const double grown = times(config.growth());
  return {std::isfinite(grown) ? grown : scale.scale, 0};
}

Expr LossScaleInput(GraphSink& sink, std::optional<ValueId>& scale) {
  if (!scale) scale = AddState(sink.graph(), kLossScaleInput, Tensor::Scalar(1.0f));
  return sink.Value(*scale);
}

UnscaledGradients Unscale(GraphSink& sink, const std::vector<Expr>& gradients,
                          std::optional<ValueId>& scale) {
  const Expr factor = Reciprocal(LossScaleInput(sink, scale));
  UnscaledGradients unscaled;
  std::vector<Expr> zeros;  // NaN where a gradient is not finite
  for (const Expr& gradient : gradients) {
    unscaled.gradients.push_back(gradient * Cast(factor, gradient.dtype()));
    const Expr zero = ReduceSum(gradient * ScalarLike(gradient, 0), {}, false);
    zeros.push_back(Unsqueeze(Cast(zero, DType::kFloat32), {0}));
  }
  unscaled.finite = Not(Op("IsNaN", {ReduceSum(expr::Concat(zeros, 0), {}, false)}));
  return unscaled;
}

}  // namespace onward::training
