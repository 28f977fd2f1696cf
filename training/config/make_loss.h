// The loss that a configuration names.
#pragma once

#include "absl/status/statusor.h"
#include "onward/expr.h"
#include "onward/train_config.pb.h"

namespace onward::training {

// The operands of a loss: the model's output and fields of the data.
struct LossOperands {
  Expr scores, target;
  Expr frames, lengths;       // of ctc's fields, or none
  std::string path = "loss";  // of its settings, for errors
};

// A scalar. InvalidArgument: no kind, or scores and target that do not go together.
absl::StatusOr<Expr> MakeLoss(const LossConfig& config, const LossOperands& operands);

// The loss in parts that add up over batches: MakeLoss is sum / count.
struct LossParts {
  Expr sum;
  Expr count;  // float64: what the mean divides by; none where the config sums
};
// Errors as MakeLoss.
absl::StatusOr<LossParts> MakeLossParts(const LossConfig& config, const LossOperands& operands);

// Returns whether targets are classes, so that predictions can be counted as right or wrong.
bool HasClasses(const LossConfig& config);
std::string LossesOfClasses();  // "cross_entropy, multi_margin, nll"

// Returns whether each element of the target is 0 or 1, or between them (bce).
bool HasBinaryTargets(const LossConfig& config);

bool SumsLoss(const LossConfig& config);
int64_t ClassAxis(const LossConfig& config);      // of losses of classes and ctc; 1 of others
int64_t IgnoredTarget(const LossConfig& config);  // a target that does not count

// The class with the highest score: int64, the scores' shape without the class axis. Of binary
// targets 1 where the probability is above a half, else 0, in the scores' shape.
Expr PredictedClass(const LossConfig& config, const Expr& scores);

}  // namespace onward::training
