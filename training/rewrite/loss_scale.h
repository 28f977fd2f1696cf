// Dynamic scaling of the loss, so that gradients in float16 do not underflow
// (torch.amp.GradScaler).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/expr.h"
#include "onward/train_config.pb.h"
#include "training/config/precision.h"
#include "training/rewrite/names.h"

namespace onward::training {

struct LossScale {
  double scale = 1;   // a float32 number
  int64_t steps = 0;  // with finite gradients since the scale changed
};

// Under which the scale does not fall.
double LeastLossScale(const PrecisionConfig& config);

// After a step whose gradients were `finite` or not.
LossScale NextLossScale(const PrecisionConfig& config, LossScale scale, bool finite);

// --- in the graph

// The input `scale` of the graph, kLossScaleInput, which is added where it is not there yet.
expr::Expr LossScaleInput(expr::GraphSink& sink, std::optional<ValueId>& scale);

struct UnscaledGradients {
  std::vector<expr::Expr> gradients;
  expr::Expr finite;  // whether all elements of all of them are
};

UnscaledGradients Unscale(expr::GraphSink& sink, const std::vector<expr::Expr>& gradients,
                          std::optional<ValueId>& scale);

}  // namespace onward::training
